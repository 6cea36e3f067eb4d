# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""OPT: GPT-2 with ReLU and without an output kernel; the 350m has norms after the branches and a narrow embedding.

Zhang et al. 2022, "OPT: Open Pre-trained Transformer Language Models", https://arxiv.org/abs/2205.01068; names and
settings of `OPTForCausalLM` in transformers. The first two rows of its position table are not used.
"""

from saccade.hub.causal import family, parts, template
from saccade.hub.encoder import Narrow, Words, layers, norm
from saccade.hub.family import Weight
from saccade.hub.heads import SEQUENCES, SPANS, of_decoder
from saccade.hub.keys import CAUSAL, Keys
from saccade.hub.seq2seq import LAYER, LEARNED
from saccade.hub.setting import read
from saccade.hub.template import Config, OneOf, Rate, Setting, either

_WORDS = Words(
    inner='ffn_dim', activation='activation_function', dropout='dropout', weights_dropout='attention_dropout'
)
_AFFINE, _BIAS = Setting('layer_norm_elementwise_affine', bool, True), Setting('enable_bias', bool, True)
_NORM = {'use': 'norm.layer:LayerNorm', 'epsilon': 1e-5, 'scale': _AFFINE, 'bias': _AFFINE}
_BEFORE = 'do_layer_norm_before'
_PARTS = parts(_WORDS, _NORM, _BIAS, bias=_BIAS, output_bias=_BIAS)


def _last(config: Config) -> str:
    removed, before = read(config, '_remove_final_layer_norm', bool, False), read(config, _BEFORE, bool, True)
    return 'norm' if before and not removed else ''


FAMILY = family(
    template(
        OneOf(
            _last,
            {'norm': _NORM, '': {'use': 'norm.none:NoNorm'}},
            lambda name: {'_remove_final_layer_norm': not name},
        ),
        either(
            _BEFORE, True, {'use': 'block.pre_norm:PreNorm', **_PARTS}, {'use': 'block.post_norm:PostNorm', **_PARTS}
        ),
        embedding_width=Narrow('word_embed_proj_dim', int, None),
        tied=Setting('tie_word_embeddings', bool, True),
        position=LEARNED,
        dropout=Rate('dropout'),
    ),
    (
        Weight('decoder.embed_tokens.weight', 'V E -> V E', ('embedding',)),
        Weight('decoder.project_in.weight', 'D E -> E D', ('embedding_output',)),
        Weight('decoder.embed_positions.weight', 'T D -> T D', ('position/positions',), 2),
        *layers('decoder.layers.*', LAYER),
        *norm('decoder.final_layer_norm', 'norm'),
        Weight('decoder.project_out.weight', 'E D -> D E', ('head_input',)),
        Weight('lm_head.weight', 'V E -> E V', ('head',)),
    ),
    prefix='model.',
    keys=Keys(
        required=CAUSAL,
        harmless=('layerdrop',),
        defaults={'activation_function': 'relu', 'dropout': 0.1, 'attention_dropout': 0.0},
    ),
    heads=of_decoder('OPT', SEQUENCES, SPANS, spans=''),
    architecture='OPTForCausalLM',
    outside=r'(lm_head|score|qa_outputs)\..*',
    tokens={'bos_token_id': 2, 'pad_token_id': 1, 'eos_token_id': 2},
)
