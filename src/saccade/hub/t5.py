# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""T5, versions 1.0 and 1.1, and models with its config: Flan-T5, ByT5. RMS pre-norm, no biases, relative positions.

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
https://arxiv.org/abs/1910.10683; names and settings of `T5ForConditionalGeneration` in transformers. Linear kernels are
stored [out, in]. Version 1.0 projects onto its scaled embedding; version 1.1 has an output kernel.
"""

import math
from dataclasses import dataclass
from typing import Any

from saccade.hub.family import ONE_TEXT, Family, Weight
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.setting import read, read_activation, shortened
from saccade.hub.template import (
    Both,
    Config,
    Inner,
    Kernel,
    Leaf,
    MismatchError,
    OneOf,
    Place,
    Rate,
    Setting,
    Usual,
    activation_name,
)
from saccade.types import UserError

_TRAINED_ON = 512  # tokens, for the published models; relative positions have no bound


def _attention(theirs: str, ours: str) -> tuple[Weight, ...]:
    names = {'q': 'query', 'k': 'key', 'v': 'value'}
    into = (Weight(f'{theirs}.{name}.weight', '(N H) D -> D N H', (f'{ours}/{own}',)) for name, own in names.items())
    return *into, Weight(f'{theirs}.o.weight', 'D (N H) -> N H D', (f'{ours}/output',))


def _feedforward(theirs: str, ours: str) -> tuple[Weight, ...]:
    return (
        # Version 1.0 has one map inwards, where 1.1 has the gate next to it.
        Weight(f'{theirs}.wi.weight', 'F D -> D F', (f'{ours}/up',), without=f'{ours}/gate'),
        *(
            Weight(f'{theirs}.wi_{number}.weight', 'F D -> D F', (f'{ours}/{name}',), needs=f'{ours}/gate')
            for number, name in enumerate(('gate', 'up'))
        ),
        Weight(f'{theirs}.wo.weight', 'D F -> F D', (f'{ours}/down',)),
    )


_BRANCHES = {
    'mixer': ('SelfAttention', _attention),
    'cross': ('EncDecAttention', _attention),
    'feedforward': ('DenseReluDense', _feedforward),
}


def _tower(name: str, *branches: str) -> tuple[Weight, ...]:
    """Return the weights of one tower, whose layers have these branches."""
    table = f'{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight'
    weights = [
        Weight(table, 'buckets N -> buckets N', (f'{name}/shared/table',)),
        Weight(f'{name}.final_layer_norm.weight', 'D -> D', (f'{name}/norm/scale',)),
    ]
    for number, branch in enumerate(branches):
        stem, ours = f'{name}.block.*.layer.{number}', f'{name}/layers/pattern_0/{branch}'
        theirs, of_branch = _BRANCHES[branch]
        weights += [
            Weight(f'{stem}.layer_norm.weight', 'D -> D', (f'{ours}_norm/scale',)),
            *of_branch(f'{stem}.{theirs}', ours),
        ]
    return tuple(weights)


WEIGHTS = (
    Weight('shared.weight', 'V D -> V D', ('encoder/embedding',)),
    *_tower('encoder', 'mixer', 'feedforward'),
    *_tower('decoder', 'mixer', 'cross', 'feedforward'),
    Weight('lm_head.weight', 'V D -> D V', ('decoder/head',)),
)


_KEYS = Keys(
    required={**CAUSAL, 'is_encoder_decoder': True},
    # Settings of a single tower, and of a classifier.
    harmless=('is_decoder', 'classifier_dropout'),
    aliases={
        'hidden_size': 'd_model', 'num_attention_heads': 'num_heads', 'num_hidden_layers': 'num_layers',
        'head_dim': 'd_kv',
    },
)  # fmt: skip


def _scaled(config: Config) -> bool:
    # Version 5 of transformers keeps the former alone: what is not scaled was not tied.
    return read(config, 'scale_decoder_outputs', bool, read(config, 'tie_word_embeddings', bool, True))


def _tied(config: Config) -> bool:
    return read(config, 'tie_word_embeddings', bool, True) and _scaled(config)


class _LogitScale(Leaf):
    """Factor of the logits: one over the root of the width where the output is the embedding, else 1."""

    def read(self, config: Config) -> float:
        """Return the factor."""
        return read(config, 'd_model', int) ** -0.5 if _scaled(config) else 1.0

    def write(self, value: float, place: Place) -> dict[str, Any]:
        """Return no setting of its own."""
        wanted = place.fields['width'] ** -0.5 if place.fields['tied'] else 1.0
        if not math.isclose(value, wanted, rel_tol=1e-6):
            raise MismatchError(f'is {value:g}, which must be {wanted:g} where tied is {place.fields["tied"]}')
        return {}


def _projection(config: Config) -> tuple[str, str]:
    """Return 'gated' or '', and the name of the activation, of `feed_forward_proj`."""
    projection = read(config, 'feed_forward_proj', str, 'relu')
    gate, _, name = projection.rpartition('-')
    if gate not in ('', 'gated'):
        raise UserError(
            f'config.json: feed_forward_proj is {shortened(projection)}, which cannot be represented; supported are an '
            "activation, and 'gated-' with an activation"
        )
    # In both versions of its authors' code, gelu is its approximation by tanh.
    return gate, 'gelu_new' if projection == 'gated-gelu' else name


def _gated(config: Config) -> str:
    gate, _ = _projection(config)
    return 'gated' if read(config, 'is_gated_act', bool, bool(gate)) else ''


@dataclass(frozen=True)
class _Activation(Leaf):
    """Activation of a feed-forward layer. Attributes: gate, 'gated' or ''."""

    gate: str

    def read(self, config: Config) -> dict[str, Any]:
        """Return the spec of the function."""
        if read(config, 'dense_act_fn', str, None):
            return read_activation(config, 'dense_act_fn')
        return read_activation({'feed_forward_proj': _projection(config)[1]}, 'feed_forward_proj')

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        """Return the setting that names the function."""
        name = activation_name(value)
        if not self.gate:
            return {'feed_forward_proj': name}
        if name == 'gelu':
            raise MismatchError('is the exact GELU, which must be its approximation by tanh where it gates')
        return {'feed_forward_proj': 'gated-gelu' if name == 'gelu_new' else f'gated-{name}'}


_DROPOUT = Rate('dropout_rate', default=0.1)
_NORM = {'use': 'norm.rms:RMSNorm', 'epsilon': Setting('layer_norm_epsilon', float, 1e-6)}


def _inner(use: str, gate: str) -> dict[str, Any]:
    ratio = Inner('d_ff', 'd_model')
    return {'use': use, 'activation': _Activation(gate), 'dropout': _DROPOUT, 'bias': False, 'ratio': ratio}


_FEEDFORWARD = OneOf(
    _gated,
    {'gated': _inner('feedforward.gated:Gated', 'gated'), '': _inner('feedforward.mlp:MLP', '')},
)


def _mixer(mask: str) -> dict[str, Any]:
    return {
        'use': 'attention.multi_head:MultiHead',
        'heads': Setting('num_heads', int),
        'key_value_heads': Usual(None, lambda fields: fields['heads']),
        'head_width': Setting('d_kv', int, 64),
        'scale': 1.0,
        'dropout': _DROPOUT,
        'mask': {'use': f'ops.mask:{mask}'},
        'position': {'use': 'position.none:NoPosition'},
        'kernel': Kernel('dropout_rate', 0.1),
    }


def _layers(mask: str, **cross: Any) -> dict[str, Any]:
    """Template of what both towers have."""
    return {
        'vocabulary': Setting('vocab_size', int),
        'context_length': Setting('n_positions', int, _TRAINED_ON),
        'width': Setting('d_model', int),
        'dropout': _DROPOUT,
        'position': {'use': 'position.none:NoPosition'},
        'shared': {
            'use': 'position.relative_bias:RelativeBias',
            'buckets': Setting('relative_attention_num_buckets', int, 32),
            'furthest': Setting('relative_attention_max_distance', int, 128),
            'both_sides': mask == 'Full',
        },
        'norm': _NORM,
        'run': {'use': 'model.stack:Unrolled'},
        'block': {
            'use': 'block.pre_norm:PreNorm',
            'norm': _NORM,
            'mixer': _mixer(mask),
            'feedforward': _FEEDFORWARD,
            **cross,
        },
    }


_DECODER_LAYERS = Both(
    lambda config: read(config, 'num_decoder_layers', int, read(config, 'num_layers', int)),
    lambda layers: {'num_decoder_layers': layers},
)
TEMPLATE = {
    'use': 'model.encoder_decoder:EncoderDecoder',
    'encoder': {'use': 'model.encoder:Encoder', 'layers': Setting('num_layers', int), **_layers('Full')},
    'decoder': {
        'use': 'model.decoder:Decoder',
        'layers': _DECODER_LAYERS,
        'tied': Both(_tied, lambda tied: {'tie_word_embeddings': tied, 'scale_decoder_outputs': tied}),
        'logit_scale': _LogitScale(),
        **_layers('Causal', cross=_mixer('Full')),
    },
}


FAMILY = Family(
    TEMPLATE,
    WEIGHTS,
    prefix='',
    copies=dict.fromkeys(
        ('encoder.embed_tokens.weight', 'decoder.embed_tokens.weight', 'lm_head.weight'), 'shared.weight'
    ),
    # A table of cross-attention in the first published folders, which is unused.
    ignored=r'decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight',
    keys=_KEYS,
    architecture='T5ForConditionalGeneration',
    outside=r'lm_head\.weight',
    tokens={'pad_token_id': 0, 'eos_token_id': 1},
    inputs=lambda config: 2 * ONE_TEXT,  # a source and a target
)
