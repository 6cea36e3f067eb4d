# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The Transformer as published, base size: 63,045,632 parameters with one vocabulary of 37,000 for English and German.

    python launch/train.py --config=experiments/translation/transformer_base.py --workdir=runs/base

Vaswani et al. 2017, "Attention Is All You Need", sections 3 and 5, https://arxiv.org/abs/1706.03762; table 3 gives 65
million. Its batches had 25,000 tokens of either language. For accelerators.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.translation.base import transformer
from saccade.experiments.translation.seq2seq import BLEU, CHRF, beams, seq2seq
from saccade.experiments.translation.wmt14 import wmt14


def get_config() -> ConfigDict:
    vocabulary, width = FieldReference(37_000), FieldReference(512)
    source_context_length, context_length = FieldReference(128), FieldReference(128)

    config = seq2seq(
        model=transformer(
            vocabulary=vocabulary,
            source_context_length=source_context_length,
            context_length=context_length,
            width=width,
            heads=8,
            layers=6,
            dropout=0.1,
        ),
        data=wmt14(dict(use='data.tokenizer.bpe:BPE', vocabulary=vocabulary), source_context_length, context_length),
        metrics=[BLEU, CHRF],
        label_smoothing=0.1,
        search=beams(4, alpha=0.6),
    )
    config.steps = 100_000
    config.batch_size = 768  # rows of about 32 tokens per side
    config.dtype = 'bfloat16'
    config.log_every = 100
    config.eval_every = 5000
    config.checkpoint_every = 5000
    config.optimizer.clip_norm = None
    config.schedule = dict(use='train.schedule:InverseSqrt', width=width, warmup=4000)
    return config
