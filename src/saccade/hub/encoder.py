# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of BERT-like encoders: summed embeddings with a layer norm, and a post-norm stack of layers.

Devlin et al. 2019, "BERT", https://arxiv.org/abs/1810.04805; names and settings are as in transformers. Linear
kernels are stored [out, in].
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from saccade.hub.family import Weight
from saccade.hub.keys import Keys
from saccade.hub.setting import read, read_activation

# Saved with every model by older versions of transformers: 0, 1, 2, ..., and zeros.
BUFFERS = r'embeddings\.(position|token_type)_ids'


@dataclass(frozen=True)
class Words:
    """Names of the settings in a family's config.json; the defaults are BERT's."""

    width: str = 'hidden_size'
    layers: str = 'num_hidden_layers'
    heads: str = 'num_attention_heads'
    inner: str = 'intermediate_size'
    activation: str = 'hidden_act'
    dropout: str = 'hidden_dropout_prob'
    weights_dropout: str = 'attention_probs_dropout_prob'


def keys(**others: Any) -> Keys:
    """Return the keys of BERT's config class and similar ones, which may be decoders. Args: others, of one family."""
    required = {'is_decoder': False, 'add_cross_attention': False, 'position_embedding_type': 'absolute'}
    return Keys(**{**others, 'required': required | others.get('required', {})})


def trunk(config: Mapping[str, Any], words: Words = Words(), skipped: int = 0) -> dict[str, Any]:
    """Return the spec of our encoder, without heads, from a config.json.

    Args:
        skipped: rows of the position table before a text's first position.

    Raises:
        UserError: a setting is missing, has the wrong type or an unsupported value.
    """
    context_length = read(config, 'max_position_embeddings', int, least=1 + skipped) - skipped
    norm = layer_norm(config)
    return {
        'use': 'model.encoder:Encoder',
        'vocabulary': read(config, 'vocab_size', int),
        'context_length': context_length,
        'width': read(config, words.width, int),
        'layers': read(config, words.layers, int),
        'dropout': read(config, words.dropout, float),
        'position': {'use': 'position.learned:Learned', 'length': context_length},
        'embedding_norm': norm,
        'norm': {'use': 'norm.none:NoNorm'},
        'run': {'use': 'model.stack:Unrolled'},
        'heads': {},
        'block': {
            'use': 'block.post_norm:PostNorm',
            'norm': norm,
            'mixer': _mixer(config, words),
            'feedforward': {
                'use': 'feedforward.mlp:MLP',
                'activation': read_activation(config, words.activation),
                'ratio': read(config, words.inner, int) / read(config, words.width, int),
                'dropout': read(config, words.dropout, float),
            },
        },
    }


def _mixer(config: Mapping[str, Any], words: Words) -> dict[str, Any]:
    return {
        'use': 'attention.multi_head:MultiHead',
        'heads': read(config, words.heads, int),
        'bias': True,
        'output_bias': True,
        'dropout': read(config, words.dropout, float),
        'mask': {'use': 'ops.mask:Full'},
        'position': {'use': 'position.none:NoPosition'},
        'kernel': {'use': 'attention.plain:Plain', 'dropout': read(config, words.weights_dropout, float)},
    }


def layer_norm(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of the layer norms, with config.json's epsilon.

    Raises:
        UserError: `layer_norm_eps` is not a finite number of at least 0.
    """
    return {'use': 'norm.layer:LayerNorm', 'epsilon': read(config, 'layer_norm_eps', float, 1e-12)}


def affine(theirs: str, ours: str, kernel: str = 'F D -> D F', bias: str = 'F -> F') -> tuple[Weight, Weight]:
    """Return the weights of an affine map, from both names and the layouts."""
    return Weight(f'{theirs}.weight', kernel, (ours,)), Weight(f'{theirs}.bias', bias, (f'{ours}_bias',))


def norm(theirs: str, ours: str) -> tuple[Weight, Weight]:
    """Return the weights of a layer norm, from both names."""
    scale = Weight(f'{theirs}.weight', 'D -> D', (f'{ours}/scale',))
    return scale, Weight(f'{theirs}.bias', 'D -> D', (f'{ours}/bias',))


def embeddings(skipped: int = 0) -> tuple[Weight, ...]:
    """Return the weights of the embeddings; the position table may have `skipped` rows before ours."""
    return (
        Weight('embeddings.word_embeddings.weight', 'V E -> V E', ('embedding',)),
        Weight('embeddings.position_embeddings.weight', 'T E -> T E', ('position/positions',), skipped),
        Weight('embeddings.token_type_embeddings.weight', 'types E -> types E', ('types',)),
        *norm('embeddings.LayerNorm', 'embedding_norm'),
    )


_INTO_HEADS = partial(affine, kernel='(N H) D -> D N H', bias='(N H) -> N H')
_ATTENTION = {
    'query': _INTO_HEADS,
    'key': _INTO_HEADS,
    'value': _INTO_HEADS,
    'output': partial(affine, kernel='D (N H) -> N H D', bias='D -> D'),
}
_LAYER = {
    **{f'{branch}/{name}': make for branch in ('mixer', 'cross') for name, make in _ATTENTION.items()},
    'mixer_norm': norm,
    'cross_norm': norm,
    'feedforward/up': affine,
    'feedforward/down': affine,
    'feedforward_norm': norm,
}


def layers(stem: str, names: Mapping[str, str], tower: str = '') -> tuple[Weight, ...]:
    """Return the weights of the layers; `names` maps our names within a layer to theirs. Args: tower, our prefix."""
    pairs = [_LAYER[ours](f'{stem}.{theirs}', f'{tower}layers/pattern_0/{ours}') for ours, theirs in names.items()]
    return tuple(weight for pair in pairs for weight in pair)


# RoBERTa and ELECTRA use the same names.
BERT_LAYERS = layers(
    'encoder.layer.*',
    {
        'mixer/query': 'attention.self.query',
        'mixer/key': 'attention.self.key',
        'mixer/value': 'attention.self.value',
        'mixer/output': 'attention.output.dense',
        'mixer_norm': 'attention.output.LayerNorm',
        'feedforward/up': 'intermediate.dense',
        'feedforward/down': 'output.dense',
        'feedforward_norm': 'output.LayerNorm',
    },
)
