# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Loaded encoder-decoders against transformers itself: logits, steps and greedy decoding of T5 and Marian."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from theirs import torch, transformers

from saccade.build import build
from saccade.hub.load import load
from saccade.hub.t5 import FAMILY
from saccade.model.stack import unstacked
from saccade.types import LayerContext

pytestmark = pytest.mark.oracle

TOLERANCE = 1e-4  # greatest difference of a logit
LEAST_SPREAD = 0.3  # standard deviation of the logits, beside which the tolerance is small
NEW_TOKENS = 6
SOURCE = np.array([[5, 17, 3, 3, 28, 11, 9, 1], [2, 30, 6, 19, 1, 0, 0, 0]])
READ = np.array([[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 0, 0]])
TOKENS = np.array([[0, 7, 12, 12, 4, 25], [0, 8, 31, 2, 0, 0]])
WRITTEN = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])

T5 = {
    '1.0': {},
    '1.0, fewer writing layers, near and far in few buckets': {
        'num_decoder_layers': 1, 'relative_attention_num_buckets': 8, 'relative_attention_max_distance': 6,
        'layer_norm_epsilon': 1e-2,
    },
    '1.1': {'feed_forward_proj': 'gated-gelu', 'tie_word_embeddings': False},
    'gated SiLU, wide heads': {'feed_forward_proj': 'gated-silu', 'd_kv': 14},
}  # fmt: skip
MARIAN = {
    'swish, scaled': {'activation_function': 'swish', 'scale_embedding': True},
    'ReLU, towers that differ': {
        'activation_function': 'relu', 'decoder_layers': 1, 'decoder_ffn_dim': 20, 'decoder_attention_heads': 2,
    },
}  # fmt: skip
MT5 = {
    'the embedding for an output': {},
    'an output of its own, not gated': {'feed_forward_proj': 'relu', 'tie_word_embeddings': False},
}
MARKS = {'pad_token_id': 0, 'decoder_start_token_id': 0, 'eos_token_id': None, 'bos_token_id': None}


def t5(folder: Path, name: str = 'T5ForConditionalGeneration', **settings: Any) -> Any:
    base = {'vocab_size': 32, 'd_model': 24, 'd_kv': 6, 'd_ff': 40, 'num_layers': 2, 'num_heads': 4}
    made = getattr(transformers, name)
    model = made(made.config_class(**(base | MARKS | settings)))
    if settings.get('tie_word_embeddings') is False:
        # transformers 5 ties what it makes anew; of the published folders it keeps the output apart.
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())
    return _saved(model, folder, settings)


def marian(folder: Path, name: str = 'MarianMTModel', **settings: Any) -> Any:
    base = {
        'vocab_size': 32, 'd_model': 24, 'max_position_embeddings': 16, 'encoder_layers': 2, 'decoder_layers': 2,
        'encoder_attention_heads': 4, 'decoder_attention_heads': 4, 'encoder_ffn_dim': 40, 'decoder_ffn_dim': 40,
    }  # fmt: skip
    made = getattr(transformers, name)
    config = made.config_class(**(base | MARKS | {'forced_eos_token_id': None} | settings))
    return _saved(made(config), folder, settings)


def _saved(model: Any, folder: Path, settings: dict[str, Any]) -> Any:
    """Redraw every parameter, so that no bias is 0 and no scale of a norm is 1, and save the model."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if 'embed_positions' not in name:
                centre = 1.0 if 'norm' in name and name.endswith('weight') else 0.0
                parameter.copy_(centre + 0.4 * torch.randn(parameter.shape, generator=generator))
        if hasattr(model, 'final_logits_bias'):
            model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape, generator=generator))
    model.save_pretrained(folder)
    config = json.loads((folder / 'config.json').read_text()) | settings
    if settings.get('tie_word_embeddings') is False:
        config.pop('scale_decoder_outputs', None)  # as the published folders have it
    (folder / 'config.json').write_text(json.dumps(config))
    return model.eval()


CASES = {f't5, {name}': (t5, settings) for name, settings in T5.items()}
CASES |= {f'marian, {name}': (marian, settings) for name, settings in MARIAN.items()}
CASES |= {f'mt5, {name}': (partial(t5, name='MT5ForConditionalGeneration'), settings) for name, settings in MT5.items()}
CASES |= {
    f'{architecture}, {name}': (partial(marian, name=architecture), settings)
    for architecture in (
        'BartForConditionalGeneration',
        'MBartForConditionalGeneration',
        'PegasusForConditionalGeneration',
    )
    for name, settings in MARIAN.items()
}


class Loaded:
    """Our model of a folder, compiled once for each shape of its input."""

    def __init__(self, folder: Path):
        pretrained = load(folder)
        self.model, self.params = build(pretrained.spec)(), {'params': pretrained.params}
        self._step = jax.jit(lambda *rest: self.model.apply(*rest, method='step'))

    def logits(self) -> np.ndarray:
        return np.asarray(self._call(self.params, SOURCE, _context(READ), TOKENS, _context(WRITTEN)))

    def _call(self, *rest: Any) -> jax.Array:
        return jax.jit(lambda *rest: self.model.apply(*rest, False))(*rest)

    def read(self, present: np.ndarray = READ) -> Any:
        read = jax.jit(lambda *rest: self.model.apply(*rest, 1 + NEW_TOKENS, method='encode'))
        return read(self.params, SOURCE, _context(present))

    def in_steps(self) -> np.ndarray:
        state, parts = self.read(), []
        params = {'params': unstacked(self.params['params'])}
        for place in range(TOKENS.shape[1]):
            here = slice(place, place + 1)
            part, state = self._step(params, TOKENS[:, here], WRITTEN[:, here], state)
            parts.append(part)
        return np.concatenate(parts, axis=1)

    def greedy(self, present: np.ndarray = READ, start: int = 0) -> np.ndarray:
        state, written = self.read(present), [np.full((len(SOURCE), 1), start)]
        for _ in range(NEW_TOKENS):
            logits, state = self._step(self.params, written[-1], np.ones_like(written[-1]), state)
            written.append(np.argmax(logits, axis=-1))
        return np.concatenate(written, axis=1)


def _context(present: np.ndarray) -> LayerContext:
    return LayerContext(jnp.broadcast_to(jnp.arange(present.shape[1]), present.shape), jnp.asarray(present))


@pytest.fixture(scope='module', params=CASES.values(), ids=CASES)
def pair(request, tmp_path_factory):
    """Their model, and ours of the folder that theirs was saved to."""
    family, settings = request.param
    folder = tmp_path_factory.mktemp('model')
    return family(folder, **settings), Loaded(folder)


@pytest.mark.oracle_of('position.sinusoid:Sinusoid', by='transformers, Marian')
def test_logits_and_steps_with_padding_on_both_sides(pair, record_property):
    theirs, ours = pair
    tensors = {
        'input_ids': SOURCE,
        'attention_mask': READ,
        'decoder_input_ids': TOKENS,
        'decoder_attention_mask': WRITTEN,
    }
    with torch.no_grad():
        expected = theirs(**{name: torch.tensor(value) for name, value in tensors.items()}).logits.numpy()
    real = WRITTEN != 0
    assert expected.std() > LEAST_SPREAD
    for found in (ours.logits(), ours.in_steps()):
        np.testing.assert_allclose(found[real], expected[real], atol=TOLERANCE, rtol=0)
        record_property(f'{theirs.config.model_type} in', float(np.abs(found - expected)[real].max()))


def test_greedy_decoding(pair, record_property):
    theirs, ours = pair
    expected = theirs.generate(
        torch.tensor(SOURCE), attention_mask=torch.tensor(READ), max_new_tokens=NEW_TOKENS, do_sample=False,
        num_beams=1, bad_words_ids=None,
    )  # fmt: skip
    np.testing.assert_array_equal(ours.greedy(), expected.numpy())
    record_property(f'{theirs.config.model_type} greedy', NEW_TOKENS * len(SOURCE))


LANGUAGE = 23
WITH_LANGUAGE = np.array([[5, 1, 3, 3, 28, 11, 1, LANGUAGE], [1, 30, 6, 1, LANGUAGE, 0, 0, 0]])


@pytest.mark.parametrize(
    ('family', 'source'),
    [('Bart', SOURCE), ('MBart', SOURCE), ('MBart', WITH_LANGUAGE)],
    ids=['bart', 'mbart', 'mbart, a language after the end'],
)
@pytest.mark.parametrize('ending', ['ForSequenceClassification', 'ForQuestionAnswering'])
def test_heads_of_a_text_that_is_read_twice(tmp_path, family, source, ending, record_property):
    """A text ends with token 1 there."""
    kind = {'num_labels': 5} if ending == 'ForSequenceClassification' else {}
    theirs = marian(tmp_path, f'{family}{ending}', **kind, decoder_start_token_id=3, eos_token_id=1)
    with torch.no_grad():
        found = theirs(torch.tensor(source), attention_mask=torch.tensor(READ))
    pretrained = load(tmp_path)
    ours = build(pretrained.spec)().apply({'params': pretrained.params}, jnp.asarray(source), _context(READ), False)
    if ending == 'ForSequenceClassification':
        wanted, made = found.logits.numpy(), ours['pooled']
    else:
        wanted = np.stack([found.start_logits, found.end_logits], axis=-1)[READ != 0]
        made = ours['tokens'][READ != 0]
    assert wanted.std() > LEAST_SPREAD
    np.testing.assert_allclose(made, wanted, atol=TOLERANCE, rtol=0)
    record_property(f'{theirs.config.model_type} in', float(np.abs(made - wanted).max()))


COUNTS = {
    60_506_624: {'d_model': 512, 'd_ff': 2048, 'num_layers': 6, 'num_heads': 8},
    76_961_152: {'d_model': 512, 'd_ff': 1024, 'num_layers': 8, 'num_heads': 6, **T5['1.1']},
}


@pytest.mark.parametrize('published', COUNTS)
def test_t5_small_has_their_number_of_parameters(tmp_path, published):
    settings = {'vocab_size': 32128, **COUNTS[published]}
    with torch.device('meta'):
        theirs = transformers.T5ForConditionalGeneration(transformers.T5Config(**settings))
    apart = settings.get('tie_word_embeddings', True) is False  # transformers 5 ties it all the same
    assert theirs.num_parameters() + apart * theirs.lm_head.weight.numel() == published
    model = build(FAMILY.spec(FAMILY.keys.settings(settings)))()
    tokens = jnp.zeros((1, 1), jnp.int32)
    given = 2 * (tokens, LayerContext(tokens))
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), *given, False))
    assert sum(leaf.size for leaf in jax.tree.leaves(shapes)) == published
