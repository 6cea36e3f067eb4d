# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""T5 small, version 1.0, 60,506,624 parameters: trained on pairs, from scratch or from its published weights.

    python launch/train.py --config=experiments/translation/t5_small.py --workdir=runs/t5 \\
        --config.init_from=FOLDER --config.data.start='<pad>'

Raffel et al. 2020, section 3.7, https://arxiv.org/abs/1910.10683; FOLDER is a Hugging Face directory of t5-small, with
its tokenizer. For accelerators.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.translation.seq2seq import BLEU, CHRF, seq2seq
from saccade.experiments.translation.t5 import t5
from saccade.experiments.translation.wmt14 import wmt14


def get_config() -> ConfigDict:
    vocabulary, source_context_length, context_length = FieldReference(32_128), FieldReference(128), FieldReference(128)

    config = seq2seq(
        model=t5(
            vocabulary=vocabulary,
            source_context_length=source_context_length,
            context_length=context_length,
            width=512,
            heads=8,
            layers=6,
            inner=2048,
            dropout=0.1,
        ),
        data=wmt14(dict(use='data.tokenizer.bpe:BPE', vocabulary=vocabulary), source_context_length, context_length),
        metrics=[BLEU, CHRF],
    )
    config.steps = 50_000
    config.batch_size = 128
    config.dtype = 'bfloat16'
    config.log_every = 100
    config.eval_every = 5000
    config.checkpoint_every = 5000
    return config
