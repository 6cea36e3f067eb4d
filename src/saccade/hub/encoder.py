# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of BERT-like encoders: summed embeddings with a layer norm, and a post-norm stack of layers.

Devlin et al. 2019, "BERT", https://arxiv.org/abs/1810.04805; names and settings are as in transformers. Linear
kernels are stored [out, in].
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from saccade.hub.family import Weight
from saccade.hub.keys import Keys
from saccade.hub.setting import read
from saccade.hub.template import (
    Activation,
    Both,
    Config,
    Free,
    HeadWidth,
    Inner,
    Kernel,
    Place,
    Rate,
    Setting,
    Usual,
)

# Paths of our parameters in a layer.
MIXER, FEEDFORWARD = 'layers/*/mixer', 'layers/*/feedforward'
QKV = tuple(f'{MIXER}/{name}' for name in ('query', 'key', 'value'))
GATED = f'{FEEDFORWARD}/gate', f'{FEEDFORWARD}/up'

# Saved with every model by older versions of transformers: 0, 1, 2, ..., and zeros.
BUFFERS = r'embeddings\.(position|token_type)_ids'


@dataclass(frozen=True)
class Words:
    """Names of the settings in a family's config.json; the defaults are BERT's."""

    length: str = 'max_position_embeddings'
    width: str = 'hidden_size'
    layers: str = 'num_hidden_layers'
    heads: str = 'num_attention_heads'
    inner: str = 'intermediate_size'
    activation: str = 'hidden_act'
    dropout: str | None = 'hidden_dropout_prob'
    weights_dropout: str = 'attention_probs_dropout_prob'

    def inside(self, key: str) -> 'Words':
        """Return the names of settings in an object of config.json. Args: key, of the object."""
        names = {name: value and f'{key}.{value}' for name, value in asdict(self).items()}
        return Words(**names)


@dataclass(frozen=True)
class Narrow(Setting):
    """Width of the embedding; None where it is that of the model."""

    def read(self, config: Config) -> int | None:
        """Return E, or None."""
        narrow = super().read(config)
        return None if narrow == read(config, Words.width, int) else narrow

    def write(self, value: int | None, place: Place) -> dict[str, Any]:
        """Return the setting."""
        return {self.key: place.fields['width'] if value is None else value}


# A model without types of tokens is exported with one, whose vector is zero.
TYPES = Both(lambda config: read(config, 'type_vocab_size', int), lambda count: {'type_vocab_size': max(count, 1)})
BIAS = Free(True)  # zero in the export of a model without
LAYER_NORM = {'use': 'norm.layer:LayerNorm', 'epsilon': Setting('layer_norm_eps', float, 1e-12)}


def keys(**others: Any) -> Keys:
    """Return the keys of BERT's config class and similar ones, which may be decoders. Args: others, of one family."""
    required = {'is_decoder': False, 'add_cross_attention': False, 'position_embedding_type': 'absolute'}
    return Keys(**{**others, 'required': required | others.get('required', {})})


def trunk(words: Words = Words(), skipped: int = 0) -> dict[str, Any]:
    """Template of the encoder, without heads. Args: skipped, positions before the first one of a text."""
    length = Setting(words.length, int, less=skipped)
    return {
        'use': 'model.encoder:Encoder',
        'vocabulary': Setting('vocab_size', int),
        'context_length': length,
        'width': Setting(words.width, int),
        'layers': Setting(words.layers, int),
        'dropout': Rate(words.dropout),
        'position': {'use': 'position.learned:Learned', 'length': length},
        'embedding_norm': LAYER_NORM,
        'norm': {'use': 'norm.none:NoNorm'},
        'run': {'use': 'model.stack:Unrolled'},
        'heads': {},
        'block': {
            'use': 'block.post_norm:PostNorm',
            'norm': LAYER_NORM,
            'mixer': attention(words),
            'feedforward': {
                'use': 'feedforward.mlp:MLP',
                'activation': Activation(words.activation),
                'ratio': Inner(words.inner, words.width),
                'bias': Free(True),
                'dropout': Rate(words.dropout),
            },
        },
    }


def attention(words: Words = Words(), mask: str = 'Full', bias: Any = BIAS) -> dict[str, Any]:
    """Template of multi-head attention with equal heads. Args: mask, in `ops.mask`; bias, of the projections."""
    return {
        'use': 'attention.multi_head:MultiHead',
        'heads': Setting(words.heads, int),
        'key_value_heads': Usual(None, lambda fields: fields['heads']),
        'head_width': HeadWidth(words.width, words.heads),
        'bias': bias,
        'output_bias': Free(True),
        'dropout': Free(0.0) if words.dropout is None else Rate(words.dropout),
        'mask': {'use': f'ops.mask:{mask}'},
        'position': {'use': 'position.none:NoPosition'},
        'kernel': Kernel(words.weights_dropout),
    }


def affine(theirs: str, ours: str, kernel: str = 'F D -> D F', bias: str = 'F -> F') -> tuple[Weight, Weight]:
    """Return the weights of an affine map, from both names and the layouts."""
    return Weight(f'{theirs}.weight', kernel, (ours,)), Weight(f'{theirs}.bias', bias, (f'{ours}_bias',))


def fused(theirs: str, ours: tuple[str, ...], kernel: str, bias: str) -> tuple[Weight, Weight]:
    """Return the weights of several of our affine maps in one of theirs, from the names and the layouts."""
    return Weight(f'{theirs}.weight', kernel, ours), Weight(
        f'{theirs}.bias', bias, tuple(f'{path}_bias' for path in ours)
    )


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
    'feedforward/gate': affine,
    'feedforward/up': affine,
    'feedforward/down': affine,
    'feedforward_norm': norm,
}


def layers(stem: str, names: Mapping[str, str], tower: str = '') -> tuple[Weight, ...]:
    """Return the weights of the layers; `names` maps our names within a layer to theirs. Args: tower, our prefix."""
    pairs = [_LAYER[ours](f'{stem}.{theirs}', f'{tower}layers/*/{ours}') for ours, theirs in names.items()]
    return tuple(weight for pair in pairs for weight in pair)


def projections(*names: str) -> dict[str, str]:
    """Return their names of projections within a layer, by ours, in families that name each by its first letter."""
    return {f'mixer/{name}': f'self_attn.{name[0]}_proj' for name in names}


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
