# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Summarisation as a translation task, evaluated by ROUGE: headlines from the first sentences of articles.

    python launch/train.py --config=experiments/translation/summarize.py --workdir=runs/headlines
    python launch/train.py --config=experiments/translation/summarize.py --workdir=runs/mine \
        --config.data.path=pairs.tsv --config.data.source=0 --config.data.target=1
    python launch/evaluate.py --workdir=runs/mine

The first command uses Gigaword of TFDS, 3.8 million pairs (Rush et al. 2015, https://arxiv.org/abs/1509.00685), for
accelerators; the second a table of your own, or a folder of line-aligned files named after splits and columns.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.translation.base import transformer
from saccade.experiments.translation.seq2seq import BUCKETS, ROUGE, beams, pairs, seq2seq


def get_config() -> ConfigDict:
    vocabulary, source_context_length, context_length = FieldReference(16_000), FieldReference(128), FieldReference(32)

    config = seq2seq(
        model=transformer(
            vocabulary=vocabulary,
            source_context_length=source_context_length,
            context_length=context_length,
            width=256,
            heads=4,
            layers=4,
            dropout=0.1,
            pre_norm=True,
        ),
        data=pairs(
            dict(use='data.tokenizer.bpe:BPE', vocabulary=vocabulary),
            name='gigaword',
            buckets=BUCKETS,
            source='document',
            target='summary',
            validation=0.1,
            source_context_length=source_context_length,
            context_length=context_length,
        ),
        metrics=[ROUGE],
        label_smoothing=0.1,
        search=beams(4, alpha=0.6),
    )
    config.steps = 100_000
    config.batch_size = 64
    config.eval_every = 5000
    config.eval_batches = 20
    config.checkpoint_every = 5000
    return config
