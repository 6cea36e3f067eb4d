# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""T5, versions 1.0 and 1.1, and models with its config: Flan-T5, ByT5. RMS pre-norm, no biases, relative positions.

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
https://arxiv.org/abs/1910.10683; names and settings of `T5ForConditionalGeneration` in transformers. Linear kernels are
stored [out, in]. Version 1.0 projects onto its scaled embedding; version 1.1 has an output kernel.
"""

from collections.abc import Mapping
from typing import Any

from saccade.hub.family import ONE_TEXT, Family, Weight
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.setting import read, read_activation, shortened
from saccade.types import UserError

_TRAINED_ON = 512  # tokens, for the published models; relative positions have no bound


def _attention(theirs: str, ours: str) -> tuple[Weight, ...]:
    names = {'q': 'query', 'k': 'key', 'v': 'value'}
    into = (Weight(f'{theirs}.{name}.weight', '(N H) D -> D N H', (f'{ours}/{own}',)) for name, own in names.items())
    return *into, Weight(f'{theirs}.o.weight', 'D (N H) -> N H D', (f'{ours}/output',))


def _feedforward(theirs: str, ours: str) -> tuple[Weight, ...]:
    return (
        Weight(f'{theirs}.wi_0.weight', 'F D -> D F', (f'{ours}/gate',)),
        Weight(f'{theirs}.wi_1.weight', 'F D -> D F', (f'{ours}/up',)),
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


def spec(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of our model, from a `T5Config`.

    Raises:
        UserError: a setting is missing, has the wrong type or an unsupported value.
    """
    # In folders of transformers version 5, `scale_decoder_outputs` decides: an unscaled output is not tied.
    width, tied = read(config, 'd_model', int), read(config, 'tie_word_embeddings', bool, True)
    scaled = read(config, 'scale_decoder_outputs', bool, tied)
    layers = read(config, 'num_layers', int)
    encoder, decoder = _layers(config, both_ways=True), _layers(config, both_ways=False)
    decoder['block']['cross'] = _mixer(config, 'Full')
    return {
        'use': 'model.encoder_decoder:EncoderDecoder',
        'encoder': {'use': 'model.encoder:Encoder', 'layers': layers, **encoder},
        'decoder': {
            'use': 'model.decoder:Decoder',
            'layers': read(config, 'num_decoder_layers', int, layers),
            'tied': tied and scaled,
            'logit_scale': width**-0.5 if scaled else 1.0,
            **decoder,
        },
    }


def _layers(config: Mapping[str, Any], both_ways: bool) -> dict[str, Any]:
    """Return the spec common to both towers, with a block without cross-attention."""
    norm = {'use': 'norm.rms:RMSNorm', 'epsilon': read(config, 'layer_norm_epsilon', float, 1e-6)}
    mixer = _mixer(config, 'Full' if both_ways else 'Causal')
    return {
        'vocabulary': read(config, 'vocab_size', int),
        'context_length': read(config, 'n_positions', int, _TRAINED_ON),
        'width': read(config, 'd_model', int),
        'dropout': read(config, 'dropout_rate', float, 0.1),
        'position': {'use': 'position.none:NoPosition'},
        'shared': {
            'use': 'position.relative_bias:RelativeBias',
            'buckets': read(config, 'relative_attention_num_buckets', int, 32),
            'furthest': read(config, 'relative_attention_max_distance', int, 128),
            'both_sides': both_ways,
        },
        'norm': norm,
        'run': {'use': 'model.stack:Unrolled'},
        'block': {'use': 'block.pre_norm:PreNorm', 'norm': norm, 'mixer': mixer, 'feedforward': _inner(config)},
    }


def _mixer(config: Mapping[str, Any], mask: str) -> dict[str, Any]:
    dropout = read(config, 'dropout_rate', float, 0.1)
    return {
        'use': 'attention.multi_head:MultiHead',
        'heads': read(config, 'num_heads', int),
        'head_width': read(config, 'd_kv', int, 64),
        'scale': 1.0,
        'dropout': dropout,
        'mask': {'use': f'ops.mask:{mask}'},
        'position': {'use': 'position.none:NoPosition'},
        'kernel': {'use': 'attention.plain:Plain', 'dropout': dropout},
    }


def _inner(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of the feed-forward layer: `feed_forward_proj` is its activation, 'gated-' before it if gated."""
    projection = read(config, 'feed_forward_proj', str, 'relu')
    gate, _, name = projection.rpartition('-')
    if gate not in ('', 'gated'):
        raise UserError(
            f'config.json: feed_forward_proj is {shortened(projection)}, which cannot be represented; supported are an '
            "activation, and 'gated-' with an activation"
        )
    # In both versions of the authors' code, gelu is the tanh approximation.
    named = {'feed_forward_proj': 'gelu_new' if projection == 'gated-gelu' else name}
    given = read(config, 'dense_act_fn', str, None)
    width, inner = read(config, 'd_model', int), read(config, 'd_ff', int)
    return {
        'use': 'feedforward.gated:Gated' if read(config, 'is_gated_act', bool, bool(gate)) else 'feedforward.mlp:MLP',
        'activation': read_activation(config, 'dense_act_fn') if given else read_activation(named, 'feed_forward_proj'),
        'dropout': read(config, 'dropout_rate', float, 0.1),
        'bias': False,
        'ratio': inner / width,
    }


FAMILY = Family(
    spec,
    WEIGHTS,
    prefix='',
    copies=dict.fromkeys(
        ('encoder.embed_tokens.weight', 'decoder.embed_tokens.weight', 'lm_head.weight'), 'shared.weight'
    ),
    # A table of cross-attention in the first published folders, which is unused.
    ignored=r'decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight',
    keys=_KEYS,
    # Version 1.0 has one input kernel; version 1.1 has two, one of them the gate.
    older={'.wi.weight': '.wi_1.weight'},
    tokens={'pad_token_id': 0, 'eos_token_id': 1},
    inputs=lambda config: 2 * ONE_TEXT,  # a source and a target
)
