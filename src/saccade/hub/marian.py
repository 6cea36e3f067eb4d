# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Marian: the encoder-decoder Transformer of machine translation, with post-norm blocks and sinusoidal positions.

Junczys-Dowmunt et al. 2018, "Marian: Fast Neural Machine Translation in C++", https://arxiv.org/abs/1804.00344, as in
the published OPUS-MT models; names and settings of `MarianMTModel` in transformers. In a position vector all sines
precede all cosines.
"""

import numpy as np

from saccade.hub.seq2seq import POSITIONS, family, keys, template
from saccade.hub.setting import read, require
from saccade.hub.template import Both, Config
from saccade.ops.rotary import frequencies


def _vocabulary(config: Config) -> int:
    size = read(config, 'vocab_size', int)
    require(config, 'decoder_vocab_size', size)
    return size


def _sinusoids(length: int, width: int) -> np.ndarray:
    """Return the table of positions, [T D]."""
    angle = np.arange(length)[:, None] * frequencies(width, 10000.0)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)[:, :width]


_TOWERS = {
    'vocabulary': Both(_vocabulary, lambda size: {'vocab_size': size, 'decoder_vocab_size': size}),
    'position': {'use': 'position.sinusoid:Sinusoid', 'pairing': {'use': 'ops.rotary:halves'}},
}
# The last four are of older folders.
_REQUIRED = {
    'share_encoder_decoder_embeddings': True, 'static_position_embeddings': True, 'normalize_before': False,
    'normalize_embedding': False, 'add_final_layer_norm': False,
}  # fmt: skip

FAMILY = family(
    'MarianMTModel',
    template('block.post_norm:PostNorm', _TOWERS),
    keys=keys(required=_REQUIRED),
    constants=dict.fromkeys(POSITIONS, _sinusoids),
    tokens={'pad_token_id': 58100, 'decoder_start_token_id': 58100, 'eos_token_id': 0, 'forced_eos_token_id': 0},
)
