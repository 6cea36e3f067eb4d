# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of T5 and mT5: pre-norm with RMSNorm, a table of relative positions for all layers, no biases.

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
https://arxiv.org/abs/1910.10683; names and settings are as in transformers. Linear kernels are stored [out, in].
Version 1.0 has one map into a feed-forward layer, 1.1 has a gate too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from saccade.hub.encoder import Words, attention
from saccade.hub.family import ONE_TEXT, Family, Trunk, Weight, alone
from saccade.hub.heads import LABELS, TOKENS, Output, each_token, of_encoder_decoder, rereading
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.setting import read, read_activation, require, shortened
from saccade.hub.template import (
    Both,
    Config,
    Inner,
    Leaf,
    MismatchError,
    OneOf,
    Place,
    Rate,
    Setting,
    activation_name,
)
from saccade.types import UserError

_TRAINED_ON = 512  # tokens, for the published models; relative positions have no bound
_WORDS = Words(
    'n_positions', 'd_model', 'num_layers', 'num_heads', 'd_ff', dropout='dropout_rate', weights_dropout='dropout_rate'
)
_INTO_HEADS, _OUT = '(N H) D -> D N H', 'D (N H) -> N H D'
_MAPS = {'query': ('q', _INTO_HEADS), 'key': ('k', _INTO_HEADS), 'value': ('v', _INTO_HEADS), 'output': ('o', _OUT)}
_BRANCHES = {'mixer': 'SelfAttention', 'cross': 'EncDecAttention', 'feedforward': 'DenseReluDense'}


def _tower(name: str, *branches: str) -> Iterator[Weight]:
    """Yield the weights of one tower, whose layers have these branches."""
    table = f'{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight'
    yield Weight(table, 'buckets N -> buckets N', (f'{name}/shared/table',))
    yield Weight(f'{name}.final_layer_norm.weight', 'D -> D', (f'{name}/norm/scale',))
    for number, branch in enumerate(branches):
        stem, ours = f'{name}.block.*.layer.{number}', f'{name}/layers/*/{branch}'
        yield Weight(f'{stem}.layer_norm.weight', 'D -> D', (f'{ours}_norm/scale',))
        stem = f'{stem}.{_BRANCHES[branch]}'
        if branch != 'feedforward':
            yield from (Weight(f'{stem}.{own}.weight', form, (f'{ours}/{to}',)) for to, (own, form) in _MAPS.items())
            continue
        gate, up = f'{ours}/gate', f'{ours}/up'
        yield Weight(f'{stem}.wi.weight', 'F D -> D F', (up,), without=gate)
        yield Weight(f'{stem}.wi_0.weight', 'F D -> D F', (gate,), needs=gate)
        yield Weight(f'{stem}.wi_1.weight', 'F D -> D F', (up,), needs=gate)
        yield Weight(f'{stem}.wo.weight', 'D F -> F D', (f'{ours}/down',))


_ENCODER = Weight('shared.weight', 'V D -> V D', ('encoder/embedding',)), *_tower('encoder', 'mixer', 'feedforward')
WEIGHTS = (
    *_ENCODER,
    *alone(_ENCODER, 'encoder/'),
    *_tower('decoder', 'mixer', 'cross', 'feedforward'),
    Weight('lm_head.weight', 'V D -> D V', ('decoder/head',)),
)


def keys(**defaults: Any) -> Keys:
    """Return the keys of the config class. Args: defaults, of one family."""
    return Keys(
        required=CAUSAL,
        own=('is_encoder_decoder',),  # False in the folder of an encoder alone
        harmless=('is_decoder',),
        aliases={
            'hidden_size': 'd_model', 'num_attention_heads': 'num_heads', 'num_hidden_layers': 'num_layers',
            'head_dim': 'd_kv',
        },
        defaults={'dropout_rate': 0.1, **defaults},
    )  # fmt: skip


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


_DROPOUT = Rate('dropout_rate')
_NORM = {'use': 'norm.rms:RMSNorm', 'epsilon': Setting('layer_norm_epsilon', float, 1e-6)}


def _inner(use: str, gate: str) -> dict[str, Any]:
    ratio = Inner('d_ff', 'd_model')
    return {'use': use, 'activation': _Activation(gate), 'dropout': _DROPOUT, 'bias': False, 'ratio': ratio}


def _mixer(mask: str) -> dict[str, Any]:
    return attention(_WORDS, mask, False) | {
        'head_width': Setting('d_kv', int, 64),
        'scale': 1.0,
        'output_bias': False,
    }


def _layers(mask: str, **cross: Any) -> dict[str, Any]:
    """Template of what both towers have."""
    gated, plain = _inner('feedforward.gated:Gated', 'gated'), _inner('feedforward.mlp:MLP', '')
    feedforward = OneOf(_gated, {'gated': gated, '': plain})
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
            'feedforward': feedforward,
            **cross,
        },
    }


def _depth(config: Config) -> int:
    require(config, 'is_encoder_decoder', True)
    return read(config, 'num_decoder_layers', int, read(config, 'num_layers', int))


def template(tied: Any, logit_scale: Any) -> dict[str, Any]:
    """Template of the model. Args: templates of whether the output is the embedding, and of the factor of logits."""
    depth = Both(_depth, lambda layers: {'num_decoder_layers': layers, 'is_encoder_decoder': True})
    return {
        'use': 'model.encoder_decoder:EncoderDecoder',
        'encoder': {'use': 'model.encoder:Encoder', 'layers': Setting('num_layers', int), **_layers('Full')},
        'decoder': {
            'use': 'model.decoder:Decoder',
            'layers': depth,
            'tied': tied,
            'logit_scale': logit_scale,
            **_layers('Causal', cross=_mixer('Full')),
        },
    }


def family(name: str, template: Mapping[str, Any], **more: Any) -> Family:
    """Return a family of models like T5. Args: name, of the architectures; template; more, other fields of `Family`."""
    inside = 'transformer.'
    tokens = each_token(Output('classifier', LABELS, Rate('classifier_dropout', default=0.0)))
    one = {f'{name}EncoderModel': (), f'{name}{TOKENS}': (replace(tokens, prefix=inside),)}
    two = of_encoder_decoder(name, prefix=inside)
    start = Setting('decoder_start_token_id', int, 0, least=0)
    fields = {
        'weights': WEIGHTS,
        'prefix': '',
        'copies': dict.fromkeys(
            ('encoder.embed_tokens.weight', 'decoder.embed_tokens.weight', 'lm_head.weight'), 'shared.weight'
        ),
        # A table of cross-attention in the first published folders, which is unused.
        'ignored': r'decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight',
        'heads': one | two,
        'trunks': dict.fromkeys(one, Trunk(template['encoder']))
        | dict.fromkeys(two, rereading(template, start, tied=True, logit_scale=1.0)),
        'outside': r'(lm_head|classifier|classification_head|qa_outputs)\..*',
        'tokens': {'pad_token_id': 0, 'eos_token_id': 1},
        'inputs': lambda config: 2 * ONE_TEXT,  # a source and a target
    }
    return Family(template, architecture=f'{name}ForConditionalGeneration', **{**fields, **more})
