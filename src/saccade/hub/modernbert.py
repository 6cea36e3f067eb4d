# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ModernBERT: pre-norm without biases, GeGLU, rotary positions, and windows in two of three layers.

Warner et al. 2024, "Smarter, Better, Faster, Longer", https://arxiv.org/abs/2412.13663; names and settings of
`ModernBertModel` and its heads in transformers. The first layer has no norm before its attention, as the
embedding has one.
"""

from typing import Any

from saccade.hub.encoder import FEEDFORWARD, GATED, LAYER_NORM, MIXER, QKV, Words, affine, attention, fused, norm
from saccade.hub.encoder import trunk as bert
from saccade.hub.family import Family, Weight
from saccade.hub.heads import LABELS, TWO, Output, each_token, masked, pooled
from saccade.hub.keys import Keys
from saccade.hub.layer_kinds import depth, listed, patterned
from saccade.hub.llama_like import template
from saccade.hub.rope import Rope
from saccade.hub.setting import read
from saccade.hub.template import Activation, Both, Config, MismatchError, Rate, Setting, named
from saccade.hub.windows import TwoSided

_NORM = {**LAYER_NORM, 'epsilon': Setting('norm_eps', float, 1e-5), 'bias': Setting('norm_bias', bool, False)}
_BIAS = Setting('attention_bias', bool, False)
_WORDS = Words(dropout='attention_dropout', weights_dropout='attention_dropout')
_INNER = {'activation': Activation('hidden_activation', 'gelu'), 'bias': Setting('mlp_bias', bool, False)}
_MODEL = bert() | {
    'dropout': Rate('embedding_dropout', default=0.0),
    'position': {'use': 'position.none:NoPosition'},
    'embedding_norm': _NORM,
    'norm': _NORM,
    'block': template({**attention(_WORDS, bias=_BIAS), 'output_bias': _BIAS}, _INNER, _NORM)['block'],
}
_MIXERS = {
    'full_attention': {'position': Rope('full_attention', 'global_rope_theta', 160_000.0, scaled=False).template()},
    'sliding_attention': {
        'mask': TwoSided('local_attention', 128),
        'position': Rope('sliding_attention', 'local_rope_theta', scaled=False).template(),
    },
}


def _slides(config: Config, number: int) -> bool:
    return number % read(config, 'global_attn_every_n_layers', int, 3) > 0


def _first(kinds: list[str]) -> dict[str, Any]:
    if [number for number, kind in enumerate(kinds) if kind == 'first'] != [0]:
        raise MismatchError('must have no norm before the mixer in the first layer, by norms, and one in each other')
    return {}


_NORMS = {'first': {'mixer': {'use': 'norm.none:NoNorm'}}, 'later': {}}
_ORDER = Both(lambda config: ['first', *['later'] * (depth(config) - 1)], _first)

_HIDDEN = {
    'activation': Activation('classifier_activation', 'gelu'),
    'hidden_bias': Setting('classifier_bias', bool, False),
}
_MASKED = masked('head.dense', 'head.norm', 'decoder', {'decoder_bias': True}, **_HIDDEN, norm=_NORM)
_CLASSES = {**_HIDDEN, 'hidden': 'head.dense', 'normed': 'head.norm', 'hidden_norm': _NORM}
_LABELS, _SPANS = (Output('classifier', classes, Rate('classifier_dropout', default=0.0)) for classes in (LABELS, TWO))
_POOL = named('classifier_pooling', {'cls': {'use': 'ops.pool:first'}, 'mean': {'use': 'ops.pool:mean'}}, 'cls')
_HEADS = {
    'ModernBertModel': (),
    'ModernBertForMaskedLM': (_MASKED,),
    'ModernBertForSequenceClassification': (pooled(output=_LABELS, pool=_POOL, **_CLASSES),),
    'ModernBertForTokenClassification': (each_token(_LABELS, **_CLASSES),),
    'ModernBertForQuestionAnswering': (each_token(_SPANS, **_CLASSES),),
}

FAMILY = Family(
    patterned(_MODEL, mixer=listed(_MIXERS, _slides), norms=(_NORMS, _ORDER)),
    (
        Weight('embeddings.tok_embeddings.weight', 'V D -> V D', ('embedding',)),
        *norm('embeddings.norm', 'embedding_norm'),
        *norm('layers.*.attn_norm', f'{MIXER}_norm'),
        *fused('layers.*.attn.Wqkv', QKV, '(part N H) D -> part D N H', '(part N H) -> part N H'),
        *affine('layers.*.attn.Wo', f'{MIXER}/output', 'D (N H) -> N H D', 'D -> D'),
        *norm('layers.*.mlp_norm', f'{FEEDFORWARD}_norm'),
        *fused('layers.*.mlp.Wi', GATED, '(part F) D -> part D F', '(part F) -> part F'),
        *affine('layers.*.mlp.Wo', f'{FEEDFORWARD}/down'),
        *norm('final_norm', 'norm'),
    ),
    prefix='model.',
    copies={'decoder.weight': 'embeddings.tok_embeddings.weight'},
    keys=Keys(
        required={'sliding_window': None, 'rope_scaling': None},
        defaults={'attention_dropout': 0.0},
        harmless=(
            'cls_token_id', 'deterministic_flash_attn', 'initializer_cutoff_factor', 'mlp_dropout', 'sep_token_id',
            'sparse_pred_ignore_index', 'sparse_prediction',
        ),
    ),
    heads=_HEADS,
    outside=r'(head|decoder|classifier)\..*',
)  # fmt: skip
