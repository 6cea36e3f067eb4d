# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ModernBERT: pre-norm without biases, GeGLU, rotary positions, and windows in two of three layers.

Warner et al. 2024, "Smarter, Better, Faster, Longer", https://arxiv.org/abs/2412.13663; names and settings of
`ModernBertModel` and its heads in transformers. The first layer has no norm before its attention, as the
embedding has one.
"""

from typing import Any

from saccade.hub.encoder import affine, attention, fused, norm
from saccade.hub.encoder import trunk as bert
from saccade.hub.family import Family, Head, Weight
from saccade.hub.heads import LABELS, TWO, masked
from saccade.hub.keys import Keys
from saccade.hub.layer_kinds import layers, listed
from saccade.hub.llama_like import template
from saccade.hub.rope import Rope
from saccade.hub.setting import read
from saccade.hub.template import Activation, Both, Config, Kernel, MismatchError, Rate, Setting, named
from saccade.ops.mask import Window
from saccade.types import Part

_FIRST = 'first '
_MIXER, _FEEDFORWARD = 'layers/*/mixer', 'layers/*/feedforward'
_QKV = tuple(f'{_MIXER}/{name}' for name in ('query', 'key', 'value'))
_GATED = f'{_FEEDFORWARD}/gate', f'{_FEEDFORWARD}/up'
_BIAS = Setting('attention_bias', bool, False)
_NORM = {
    'use': 'norm.layer:LayerNorm',
    'epsilon': Setting('norm_eps', float, 1e-5),
    'bias': Setting('norm_bias', bool, False),
}


def _window(mask: Part) -> dict[str, Any]:
    if mask.target is not Window or mask['left'] != dict(mask.arguments).get('right', 0):
        raise MismatchError(f'is {mask.name}, which must be ops.mask:Window with as many tokens on either side')
    return {'local_attention': 2 * mask['left']}


def _half(config: Config) -> dict[str, Any]:
    half = read(config, 'local_attention', int, 128) // 2
    return {'use': 'ops.mask:Window', 'left': half, 'right': half}


def _block(rope: Rope, mask: Any) -> dict[str, Any]:
    mixer = {'mask': mask, 'output_bias': _BIAS, 'position': rope.template()}
    rates = {'dropout': Rate('attention_dropout', default=0.0), 'kernel': Kernel('attention_dropout', 0.0)}
    feedforward = {'activation': Activation('hidden_activation', 'gelu'), 'bias': Setting('mlp_bias', bool, False)}
    return template(attention(bias=_BIAS) | mixer | rates, feedforward, _NORM)['block']


_BLOCKS = {
    'full_attention': _block(
        Rope('full_attention', 'global_rope_theta', 160_000.0, scaled=False), {'use': 'ops.mask:Full'}
    ),
    'sliding_attention': _block(Rope('sliding_attention', 'local_rope_theta', scaled=False), Both(_half, _window)),
}
_FIRST_BLOCKS = {
    _FIRST + kind: block | {'norms': {'mixer': {'use': 'norm.none:NoNorm'}}} for kind, block in _BLOCKS.items()
}
_LISTED = listed(
    lambda config, number: [*_BLOCKS][number % read(config, 'global_attn_every_n_layers', int, 3) > 0], *_BLOCKS
)


def _kinds(config: Config) -> list[str]:
    first, *rest = _LISTED(config)
    return [_FIRST + first, *rest]


def _types(kinds: list[str]) -> dict[str, Any]:
    if [number for number, kind in enumerate(kinds) if kind.startswith(_FIRST)] != [0]:
        raise MismatchError('must have no norm before the mixer in the first layer, by norms, and one in each other')
    return {'layer_types': [kind.removeprefix(_FIRST) for kind in kinds]}


_HIDDEN = {
    'activation': Activation('classifier_activation', 'gelu'),
    'hidden_bias': Setting('classifier_bias', bool, False),
}
_MASKED = masked('head.dense', 'head.norm', 'decoder', {'decoder_bias': True}, **_HIDDEN, norm=_NORM)


def _scores(name: str, classes: Any, **use: Any) -> Head:
    fields = {**use, **_HIDDEN, 'hidden_norm': _NORM, 'classes': classes, 'dropout': _DROPOUT}
    stem = f'{name}_head'
    weights = (*affine('head.dense', f'{stem}/hidden'), *norm('head.norm', f'{stem}/hidden_norm'))
    return Head(name, fields, (*weights, *affine('classifier', f'{stem}/output')))


_DROPOUT = Rate('classifier_dropout', default=0.0)
_POOL = named('classifier_pooling', {'cls': {'use': 'ops.pool:first'}, 'mean': {'use': 'ops.pool:mean'}}, 'cls')
_HEADS = {
    'ModernBertModel': (),
    'ModernBertForMaskedLM': (_MASKED,),
    'ModernBertForSequenceClassification': (_scores('pooled', LABELS, use='head.pooled:Pooled', pool=_POOL),),
    'ModernBertForTokenClassification': (_scores('tokens', LABELS, use='head.each_token:EachToken'),),
    'ModernBertForQuestionAnswering': (_scores('tokens', TWO, use='head.each_token:EachToken'),),
}

FAMILY = Family(
    bert()
    | {
        'dropout': Rate('embedding_dropout', default=0.0),
        'position': {'use': 'position.none:NoPosition'},
        'embedding_norm': _NORM,
        'norm': _NORM,
    }
    | layers(_BLOCKS | _FIRST_BLOCKS, _kinds, _types),
    (
        Weight('embeddings.tok_embeddings.weight', 'V D -> V D', ('embedding',)),
        *norm('embeddings.norm', 'embedding_norm'),
        *norm('layers.*.attn_norm', f'{_MIXER}_norm'),
        *fused('layers.*.attn.Wqkv', _QKV, '(part N H) D -> part D N H', '(part N H) -> part N H'),
        *affine('layers.*.attn.Wo', f'{_MIXER}/output', 'D (N H) -> N H D', 'D -> D'),
        *norm('layers.*.mlp_norm', f'{_FEEDFORWARD}_norm'),
        *fused('layers.*.mlp.Wi', _GATED, '(part F) D -> part D F', '(part F) -> part F'),
        *affine('layers.*.mlp.Wo', f'{_FEEDFORWARD}/down'),
        *norm('final_norm', 'norm'),
    ),
    prefix='model.',
    copies={'decoder.weight': 'embeddings.tok_embeddings.weight'},
    keys=Keys(
        required={'sliding_window': None, 'rope_scaling': None},
        harmless=(
            'cls_token_id', 'deterministic_flash_attn', 'initializer_cutoff_factor', 'mlp_dropout', 'sep_token_id',
            'sparse_pred_ignore_index', 'sparse_prediction',
        ),
    ),
    heads=_HEADS,
    outside=r'(head|decoder|classifier)\..*',
)  # fmt: skip
