# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""BART: the encoder-decoder Transformer with learned positions and a norm of the embedded tokens.

Lewis et al. 2020, "BART", https://arxiv.org/abs/1910.13461; names and settings of `BartForConditionalGeneration` and
its heads in transformers. The first two rows of its position tables are not used.
"""

from saccade.hub.heads import of_encoder_decoder, rereading
from saccade.hub.seq2seq import LAYER_NORM, LEARNED, WEIGHTS, family, keys, tables, template
from saccade.hub.template import Setting

# Of older folders.
_REQUIRED = {
    'normalize_before': False, 'normalize_embedding': True, 'add_final_layer_norm': False,
    'static_position_embeddings': False, 'extra_pos_embeddings': 2,
}  # fmt: skip
_MODEL = template('block.post_norm:PostNorm', {'position': LEARNED}, LAYER_NORM)
_HEADS = of_encoder_decoder('Bart')
_TWICE = rereading(_MODEL, Setting('decoder_start_token_id', int, 2, least=0), head_bias=False)

FAMILY = family(
    '',
    _MODEL,
    keys=keys(required=_REQUIRED, defaults={'num_labels': 3}),
    weights=(*WEIGHTS, *tables(skipped=2)),
    ignored=r'(encoder|decoder)\.version',
    tokens={
        'bos_token_id': 0, 'pad_token_id': 1, 'eos_token_id': 2, 'decoder_start_token_id': 2, 'forced_eos_token_id': 2,
    },
    heads={'BartForConditionalGeneration': (), 'BartModel': (), **_HEADS},
    trunks=dict.fromkeys(_HEADS, _TWICE),
)  # fmt: skip
