# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""mBART: BART with norms before the branches, and one after each tower.

Liu et al. 2020, "Multilingual Denoising Pre-training for Neural Machine Translation", https://arxiv.org/abs/2001.08210;
names and settings of `MBartForConditionalGeneration` and its heads in transformers.
"""

from saccade.hub.bart import FAMILY as BART
from saccade.hub.heads import of_encoder_decoder, rereading
from saccade.hub.seq2seq import LAYER_NORM, LEARNED, family, keys, template
from saccade.hub.template import Setting

_MODEL = template('block.pre_norm:PreNorm', {'position': LEARNED, 'norm': LAYER_NORM}, LAYER_NORM)
_HEADS = of_encoder_decoder('MBart')
# Where a text ends; its language follows.
_END = Setting('eos_token_id', int, None, least=0)

FAMILY = family(
    '',
    _MODEL,
    keys=keys(required={'normalize_before': True, 'add_final_layer_norm': True}, defaults={'eos_token_id': 2}),
    weights=BART.weights,
    tokens={'bos_token_id': 0, 'pad_token_id': 1, 'eos_token_id': 2, 'forced_eos_token_id': 2},
    heads={'MBartForConditionalGeneration': (), 'MBartModel': (), **_HEADS},
    trunks=dict.fromkeys(_HEADS, rereading(_MODEL, None, _END, head_bias=False)),
)
