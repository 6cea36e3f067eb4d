# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""CANINE, small: masked bytes, hashed, with layers that read one place for four of them.

    python launch/train.py --config=experiments/masked_lm/canine_tiny.py --workdir=runs/canine

Clark et al. 2022, "CANINE", https://arxiv.org/abs/2103.06874; its characters are code points, in 8 tables of 16,384
rows. A row has 128 bytes, and the layers read 33 places: the first byte and 32 groups of four. Spans of bytes are
hidden, since a single one is easy to guess from its neighbours.
"""

from ml_collections import ConfigDict
from saccade.experiments.masked_lm import bert_tiny
from saccade.experiments.masked_lm.base import MASKED, bert_block

SPECIALS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
LENGTH = 128


def get_config() -> ConfigDict:
    config = bert_tiny.get_config()
    local = bert_block(heads=2, dropout=0.0)
    local['mixer']['mask'] = dict(use='ops.mask:Chunked', length=32)
    config.task.choose = dict(use='ops.masking:choose_spans')
    config.data.context_length = LENGTH
    config.data.tokenizer = dict(use='data.tokenizer.byte:Byte', end=None, specials=SPECIALS)
    config.data.pairing = dict(use='data.encoder.pairing:OnePassage')
    config.model.update(
        use='model.canine:Canine',
        vocabulary=261,
        context_length=LENGTH,
        rate=4,
        reach=4,
        first=local,
        embed=dict(use='embed.hashed:HashedEmbedding', hashes=8, buckets=1024),
        heads=dict(masked=MASKED),
    )
    return config
