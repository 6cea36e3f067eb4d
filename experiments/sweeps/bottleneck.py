# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Bottleneck of the fixed context vector: accuracy by sequence length, without and with attention.

    python launch/sweep.py --config=experiments/translation/copying.py --sweep=experiments/sweeps/bottleneck.py \\
        --workdir=runs/bottleneck --jobs=2
    python launch/report.py --workdir=runs/bottleneck --metric=accuracy

Copying and reversing 1 to 200 symbols, measured at 10, 20, 50, 100 and 200; `--size=thousand` trains one seed of
copying on up to 1,000. Cho et al. 2014, section 4, https://arxiv.org/abs/1409.1259, and Bahdanau et al. 2015, figure 2,
https://arxiv.org/abs/1409.0473, measure sentences in the same way. Without attention the decoder gets the encoder's
last state at every step; attention is Luong's, with input feeding. The report draws accuracy by length; exact_match
(--metric=exact_match) is the share of sequences without a mistake.
"""

from collections.abc import Sequence
from typing import Any

CELLS = dict(cell=dict(use='recurrent.cell.lstm:LSTM', width=64), layers=1, dropout=0.0)
SIZES = dict(
    thousand=dict(measured=(100, 200, 500, 1000), buckets=(126, 251, 501), rows=16),
    full=dict(measured=(10, 20, 50, 100, 200), buckets=(26, 51, 101, 151), rows=32),
)


def get_sweep() -> dict[str, Any]:
    thousand, full = (dict(name=name, config=trained(**size)) for name, size in SIZES.items())
    return dict(
        runs=dict(list=variants(['Copy', 'Reverse'])),
        seeds=3,
        sizes=[thousand | dict(runs=dict(list=variants(['Copy'])), seeds=1), full],
    )


def trained(measured: Sequence[int], buckets: Sequence[int], rows: int) -> dict[str, Any]:
    """Return the fields of runs on up to the longest of the measured numbers of symbols."""
    context = measured[-1] + 1  # with the end token
    return {
        'data.generator.longest': measured[-1],
        'data.source_context_length': context,
        'data.context_length': context,
        'data.buckets': list(buckets),
        'eval_lengths': [symbols + 1 for symbols in measured],
        'batch_size': rows,
        'steps': 1500,
    }


def variants(tasks: Sequence[str]) -> list[dict[str, Any]]:
    """Return the decoders on each task."""
    attention = dict(use='recurrent.decoder.soft:Soft', score=dict(use='recurrent.score.general:General'))
    decoders = dict(
        fixed=dict(use='recurrent.decoder.fixed_context:FixedContext', fed=True),
        attention=dict(use='recurrent.decoder.luong:Luong', attention=attention, input_feeding=True),
    )
    return [
        {
            'name': f'{task.lower()}_{name}',
            'model.decoder': decoder | CELLS,
            'data.generator.use': f'data.synthetic.sequences:{task}',
        }
        for task in tasks
        for name, decoder in decoders.items()
    ]
