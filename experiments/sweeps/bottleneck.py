# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Bottleneck of the fixed context vector: accuracy by sequence length, without and with attention.

    python launch/sweep.py --config=experiments/translation/copying.py --sweep=experiments/sweeps/bottleneck.py \\
        --workdir=runs/bottleneck --jobs=2
    python launch/report.py --workdir=runs/bottleneck --metric=accuracy

Copying and reversing 10 to 200 symbols; Cho et al. 2014, section 4, https://arxiv.org/abs/1409.1259, and Bahdanau et
al. 2015, figure 2, https://arxiv.org/abs/1409.0473, measure sentences. Without attention the decoder gets the
encoder's last state at every step; attention is Luong's. The report draws accuracy by length; exact_match
(--metric=exact_match) is the share of sequences without a mistake.
"""

LENGTHS = (10, 20, 50, 100, 200)  # symbols
CELLS = dict(cell=dict(use='recurrent.cell.lstm:LSTM', width=64), layers=1, dropout=0.0)


def get_sweep() -> dict:
    attention = dict(use='recurrent.decoder.soft:Soft', score=dict(use='recurrent.score.general:General'))
    decoders = dict(
        fixed=dict(use='recurrent.decoder.fixed_context:FixedContext', fed=True),
        attention=dict(use='recurrent.decoder.luong:Luong', attention=attention, input_feeding=False),
    )
    points = [
        {'name': f'{task}_{length}_{name}', 'model.decoder': decoder | CELLS, **_data(task, length)}
        for task in ('copy', 'reverse')
        for length in LENGTHS
        for name, decoder in decoders.items()
    ]
    return dict(runs=dict(list=points), seeds=3)


def _data(task: str, length: int) -> dict:
    use = f'data.synthetic.sequences:{task.capitalize()}'
    return {
        'data.generator': dict(use=use, symbols=10, shortest=length, longest=length),
        'data.source_context_length': length + 1,  # including the end token
        'data.context_length': length + 1,
    }
