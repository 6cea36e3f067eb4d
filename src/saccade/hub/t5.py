# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""T5, versions 1.0 and 1.1, and what shares its config: Flan-T5, ByT5. RMS pre-norm, no biases, relative positions.

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
https://arxiv.org/abs/1910.10683; the names and settings are those of `T5ForConditionalGeneration` in transformers. Its
linear maps are stored [out, in]. Version 1.0 projects onto its embedding, scaled; 1.1 has an output of its own.
"""

from collections.abc import Mapping
from typing import Any

from saccade.hub.family import ONE_TEXT, Family, Weight
from saccade.hub.setting import activation, read, require

_TRAINED_ON = 512  # tokens, of the published models; their positions know no bound


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
    """The weights of one tower, whose layers have these branches."""
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


def spec(config: Mapping[str, Any]) -> dict[str, Any]:
    """From a `T5Config` to our model.

    Raises:
        UserError: a setting is missing, has the wrong type, or asks for what we cannot represent.
    """
    require(config, 'is_encoder_decoder', True)
    width, tied = read(config, 'd_model', int), read(config, 'tie_word_embeddings', bool, True)
    layers = read(config, 'num_layers', int)
    encoder, decoder = _layers(config, both_ways=True), _layers(config, both_ways=False)
    decoder['block']['cross'] = _mixer(config, 'Full')
    return {
        'use': 'model.encoder_decoder:EncoderDecoder',
        'encoder': {'use': 'model.encoder:Encoder', 'layers': layers, **encoder},
        'decoder': {
            'use': 'model.decoder:Decoder',
            'layers': read(config, 'num_decoder_layers', int, layers),
            'tied': tied,
            'logit_scale': width**-0.5 if read(config, 'scale_decoder_outputs', bool, tied) else 1.0,
            **decoder,
        },
    }


def _layers(config: Mapping[str, Any], both_ways: bool) -> dict[str, Any]:
    """Spec of what both towers share, with a block without cross-attention."""
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
    """The feed-forward layer, whose name says whether it is gated and what its activation is."""
    gate, _, name = read(config, 'feed_forward_proj', str, 'relu').rpartition('-')
    width, inner = read(config, 'd_model', int), read(config, 'd_ff', int)
    common = {'dropout': read(config, 'dropout_rate', float, 0.1), 'bias': False, 'ratio': inner / width}
    if not gate:
        return {'use': 'feedforward.mlp:MLP', 'activation': activation(name), **common}
    require({'feed_forward_proj': gate}, 'feed_forward_proj', 'gated')
    # In both versions of its authors' code, gelu is its approximation by tanh.
    return {'use': 'feedforward.gated:Gated', 'activation': activation(name.replace('gelu', 'gelu_new')), **common}


FAMILY = Family(
    spec,
    WEIGHTS,
    prefix='',
    copies=dict.fromkeys(
        ('encoder.embed_tokens.weight', 'decoder.embed_tokens.weight', 'lm_head.weight'), 'shared.weight'
    ),
    # A table that cross-attention had in the first published folders, and never used.
    ignored=r'decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight',
    # Version 1.0 has one map inwards, where 1.1 has the gate beside it.
    older={'.wi.weight': '.wi_1.weight'},
    tokens={'pad_token_id': 0, 'eos_token_id': 1},
    inputs=lambda config: 2 * ONE_TEXT,  # a source and a target
)
