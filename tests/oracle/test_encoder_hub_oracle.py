# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Loaded encoders against transformers itself: every layer's hidden states, and what each head makes of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from theirs import torch, transformers

from saccade.build import build
from saccade.hub.load import load, spec_of
from saccade.model.stack import STATES, layer_states
from saccade.types import LayerContext

pytestmark = pytest.mark.oracle

TOLERANCE = 1e-4  # greatest difference of a number
LEAST_SPREAD = 0.1  # standard deviation of the numbers, beside which the tolerance is small
# Token 1 is RoBERTa's padding, and stands nowhere else.
TOKENS = np.array([[5, 17, 3, 3, 28, 0, 11, 9], [2, 30, 6, 19, 4, 1, 1, 1]])
PRESENT = np.array([[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 0, 0]])
TYPES = np.array([[0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 0, 0]])
POSITIONS = np.broadcast_to(np.arange(TOKENS.shape[1]), TOKENS.shape)
LABELS = 5

SIZES = {
    'vocab_size': 32, 'max_position_embeddings': 16, 'hidden_size': 24, 'num_hidden_layers': 2,
    'num_attention_heads': 4, 'intermediate_size': 40, 'num_labels': LABELS,
}  # fmt: skip
DISTILLED = {
    'vocab_size': 32, 'max_position_embeddings': 16, 'dim': 24, 'n_layers': 2, 'n_heads': 4, 'hidden_dim': 40,
    'num_labels': LABELS,
}  # fmt: skip
FAMILIES = {
    'Bert': SIZES,
    'Roberta': SIZES | {'type_vocab_size': 1, 'pad_token_id': 1},
    'XLMRoberta': SIZES | {'type_vocab_size': 1, 'pad_token_id': 1},
    'Albert': SIZES | {'embedding_size': 10},
    'DistilBert': DISTILLED,
    'Electra': SIZES | {'embedding_size': 10},
    'ModernBert': SIZES | {'local_attention': 4} | dict.fromkeys(('pad_token_id', 'cls_token_id', 'sep_token_id'), 0),
}
OWN_BIASES = dict.fromkeys(('norm_bias', 'attention_bias', 'mlp_bias', 'classifier_bias'), True)
UNUSUAL = {'hidden_act': 'relu', 'layer_norm_eps': 1e-2}

Read = Callable[[Any], Any]


def _logits(output: Any) -> Any:
    return output.logits


def _spans(output: Any) -> Any:
    return torch.stack([output.start_logits, output.end_logits], dim=-1)


MASKED, POOLED, TOKENS_HEAD = {'masked': _logits}, {'pooled': _logits}, {'tokens': _logits}
POOLER: dict[str, Read] = {'pooled': lambda output: output.pooler_output}
SPANS: dict[str, Read] = {'tokens': _spans}
PREDICTIONS: dict[str, Read] = {'masked': lambda output: output.prediction_logits}
FOLLOWS: dict[str, Read] = {'pooled': lambda output: output.seq_relationship_logits}
ORDERED: dict[str, Read] = {'pooled': lambda output: output.sop_logits}
REPLACED: dict[str, Read] = {'tokens': lambda output: output.logits[..., None]}
CLASSIFIERS = {
    'ForSequenceClassification': POOLED,
    'ForTokenClassification': TOKENS_HEAD,
    'ForQuestionAnswering': SPANS,
}
HEADS = {
    'Bert': {
        'Model': POOLER, 'ForMaskedLM': MASKED, 'ForPreTraining': PREDICTIONS | FOLLOWS,
        'ForNextSentencePrediction': POOLED,
    },
    'Roberta': {'Model': POOLER, 'ForMaskedLM': MASKED},
    'XLMRoberta': {'Model': POOLER, 'ForMaskedLM': MASKED},
    'Albert': {'Model': POOLER, 'ForMaskedLM': MASKED, 'ForPreTraining': PREDICTIONS | ORDERED},
    'DistilBert': {'Model': {}, 'ForMaskedLM': MASKED},
    'Electra': {'Model': {}, 'ForMaskedLM': MASKED, 'ForPreTraining': REPLACED},
    'ModernBert': {'Model': {}, 'ForMaskedLM': MASKED},
}  # fmt: skip
TWO_LABELS = {'ForQuestionAnswering': {'num_labels': 2}}
CASES = {
    f'{family}{architecture}': (family, architecture, TWO_LABELS.get(architecture, {}), heads)
    for family, special in HEADS.items()
    for architecture, heads in (special | CLASSIFIERS).items()
}
CASES |= {
    f'{family}{architecture}, unusual': (family, architecture, settings, (HEADS[family] | CLASSIFIERS)[architecture])
    for family, architecture, settings in (
        ('Bert', 'ForPreTraining', UNUSUAL),
        ('Roberta', 'ForMaskedLM', UNUSUAL),
        ('Albert', 'ForPreTraining', UNUSUAL | {'embedding_size': 24}),
        ('DistilBert', 'ForMaskedLM', {'activation': 'relu', 'sinusoidal_pos_embds': True}),
        ('Electra', 'ForMaskedLM', UNUSUAL | {'embedding_size': 24}),
        ('Electra', 'ForPreTraining', UNUSUAL),
        ('ModernBert', 'ForMaskedLM', OWN_BIASES | {'hidden_activation': 'relu', 'classifier_activation': 'silu'}),
        ('ModernBert', 'ForSequenceClassification', OWN_BIASES | {'classifier_pooling': 'mean'}),
        ('ModernBert', 'ForTokenClassification', OWN_BIASES | {'classifier_activation': 'relu', 'norm_eps': 1e-2}),
        ('ModernBert', 'Model', {'layer_types': ['sliding_attention', 'full_attention'], 'norm_eps': 1e-2}),
    )
}


def model_of(family: str, architecture: str, **settings: Any) -> Any:
    config = getattr(transformers, f'{family}Config')(**(FAMILIES[family] | settings))
    return _random(getattr(transformers, f'{family}{architecture}')(config))


def _random(model: Any) -> Any:
    """Redraw every parameter, so that no bias is 0 and no scale of a norm is 1."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            centre = 1.0 if name.lower().endswith('norm.weight') else 0.0
            parameter.copy_(centre + 0.4 * torch.randn(parameter.shape, generator=generator))
    return model.eval()


def theirs_of(model: Any, types: bool) -> Any:
    tensors = {'input_ids': TOKENS, 'attention_mask': PRESENT} | ({'token_type_ids': TYPES} if types else {})
    with torch.no_grad():
        return model(**{name: torch.tensor(value) for name, value in tensors.items()}, output_hidden_states=True)


def ours_of(folder: Path, types: bool) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """What each head makes of the tokens, and the hidden states."""
    pretrained = load(folder)
    model = build(pretrained.spec)()
    context = LayerContext(jnp.asarray(POSITIONS), jnp.asarray(PRESENT), types=jnp.asarray(TYPES) if types else None)
    outputs, reported = jax.jit(
        lambda params: model.apply({'params': params}, jnp.asarray(TOKENS), context, False, mutable=STATES)
    )(pretrained.params)
    return outputs, layer_states(reported)


def assert_equal(ours: Any, theirs: Any) -> float:
    """Return the greatest difference."""
    theirs = theirs.numpy()
    assert theirs.std() > LEAST_SPREAD
    np.testing.assert_allclose(ours, theirs, atol=TOLERANCE, rtol=0)
    return float(np.abs(ours - theirs).max())


@pytest.mark.oracle_of('block.post_norm:PostNorm', 'feedforward.mlp:MLP', by='transformers, BERT and others')
@pytest.mark.parametrize(('family', 'architecture', 'settings', 'heads'), CASES.values(), ids=CASES)
def test_hidden_states_and_heads(tmp_path, family, architecture, settings, heads, record_property):
    types = family in ('Bert', 'Albert', 'Electra')
    model, here = model_of(family, architecture, **settings), PRESENT.astype(bool)
    model.save_pretrained(tmp_path)
    expected = theirs_of(model, types)
    found, states = ours_of(tmp_path, types)
    assert len(states) == len(expected.hidden_states) == 3
    before_last_norm = 2 if family == 'ModernBert' else 3  # theirs of the last layer is normed
    for ours, theirs in zip(states[:before_last_norm], expected.hidden_states[:before_last_norm], strict=True):
        difference = assert_equal(np.asarray(ours)[here], theirs[torch.tensor(here)])
        record_property(f'{model.config.model_type} in', difference)
    assert found.keys() == heads.keys()
    for name, read in heads.items():
        ours, theirs = np.asarray(found[name]), read(expected)
        assert ours.shape == tuple(theirs.shape)
        difference = assert_equal(*((ours, theirs) if name == 'pooled' else (ours[here], theirs[torch.tensor(here)])))
        record_property(f'{model.config.model_type} in', difference)


BASE = {'hidden_size': 768, 'num_attention_heads': 12, 'intermediate_size': 3072}
LARGE = {'hidden_size': 1024, 'num_attention_heads': 16, 'intermediate_size': 4096, 'num_hidden_layers': 24}
ROBERTA = {'vocab_size': 50265, 'max_position_embeddings': 514, 'type_vocab_size': 1}
PUBLISHED = {
    'bert-base': ('Bert', 'Model', BASE, 109_482_240),
    'bert-base as trained': ('Bert', 'ForPreTraining', BASE, 110_106_428),
    'bert-large': ('Bert', 'Model', LARGE, 335_141_888),
    'roberta-base': ('Roberta', 'Model', BASE | ROBERTA, 124_645_632),
    'roberta-large': ('Roberta', 'Model', LARGE | ROBERTA, 355_359_744),
    'albert-base': ('Albert', 'Model', BASE, 11_683_584),
    'albert-base as trained': ('Albert', 'ForPreTraining', BASE, 11_813_810),
    'albert-xxlarge': ('Albert', 'Model', {}, 222_595_584),
    'distilbert-base': ('DistilBert', 'Model', {}, 66_362_880),
    'electra-small': ('Electra', 'Model', {}, 13_483_008),
    'electra-small, the discriminator': ('Electra', 'ForPreTraining', {}, 13_549_057),
    'modernbert-base': ('ModernBert', 'ForMaskedLM', {}, 149_655_232),
    'electra-base': ('Electra', 'Model', BASE | {'embedding_size': 768}, 108_891_648),
}


@pytest.mark.parametrize(('family', 'architecture', 'settings', 'parameters'), PUBLISHED.values(), ids=PUBLISHED)
def test_published_sizes(tmp_path, family, architecture, settings, parameters):
    config = getattr(transformers, f'{family}Config')(**settings)
    with torch.device('meta'):
        theirs = getattr(transformers, f'{family}{architecture}')(config)
    described = theirs.config.to_dict() | {'architectures': [f'{family}{architecture}']}
    (tmp_path / 'config.json').write_text(json.dumps(described))
    assert sum(parameter.numel() for parameter in theirs.parameters()) == parameters
    spec = spec_of(tmp_path)
    padding = 2 * spec['width'] if family == 'Roberta' else 0
    assert parameters_of(spec) == parameters - padding


def parameters_of(spec: dict[str, Any]) -> int:
    model, tokens = build(spec)(), jnp.zeros((1, 1), jnp.int32)
    variables = jax.eval_shape(lambda: model.init(jax.random.key(0), tokens, LayerContext(tokens), False))
    return sum(leaf.size for leaf in jax.tree.leaves(variables))
