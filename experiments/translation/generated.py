# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generated sequence-to-sequence tasks; by default, reversing a sequence.

    python launch/train.py --config=experiments/translation/generated.py --workdir=runs/reverse
    python launch/train.py --config=experiments/translation/generated.py --workdir=runs/recall \
        --config.data.generator="{'use': 'data.synthetic.sequences:Recall', 'keys': 16, 'values': 16, 'pairs': 6, \
            'asked': 2}"

Other tasks are `Copy` and `Sort`, with fields symbols, shortest and longest, and `Addition` of digits, on characters:

    --config.data.generator="{'use': 'data.synthetic.sequences:Addition', 'digits': 3}" \
        --config.data.tokenizer="{'use': 'data.tokenizer.character:Character'}"

For another length, set --config.data.source_context_length and --config.data.context_length to one token more than the
longest sequence.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.translation.base import transformer
from saccade.experiments.translation.seq2seq import EXACT, seq2seq


def get_config() -> ConfigDict:
    vocabulary, source_context_length, context_length = FieldReference(64), FieldReference(24), FieldReference(24)

    config = seq2seq(
        model=transformer(
            vocabulary=vocabulary,
            source_context_length=source_context_length,
            context_length=context_length,
            width=64,
            heads=4,
            layers=2,
            dropout=0.0,  # too many pairs to be memorised
            pre_norm=True,
        ),
        data=dict(
            use='data.synthetic.generated:Generated',
            generator=dict(use='data.synthetic.sequences:Reverse', symbols=20, shortest=5, longest=20),
            train=20_000,
            validation=500,
            seed=0,
            held_out=0.1,
            tokenizer=dict(use='data.tokenizer.word:Word', vocabulary=vocabulary),
            source_context_length=source_context_length,
            context_length=context_length,
            start=None,
            buckets=(),
            source_tokenizer=None,
            mode=None,
        ),
        metrics=[EXACT],
    )
    config.schedule.peak = 3e-3
    return config
