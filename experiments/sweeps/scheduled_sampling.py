# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep over scheduled sampling: exposure bias by the share of the decoder's own samples in training.

    python launch/sweep.py --config=experiments/translation/scheduled_sampling.py \\
        --sweep=experiments/sweeps/scheduled_sampling.py --workdir=runs/exposure --jobs=2
    python launch/report.py --workdir=runs/exposure --metric=own_loss

For a recurrent model and a Transformer: constant shares, of which 0 is teacher forcing, and the three schedules of
Bengio et al. 2015, https://arxiv.org/abs/1506.03099, which all reach a share of one half in the middle of the run.
"""

from saccade.experiments.translation.base import transformer

LENGTH = 21  # tokens of either side
MIDDLE = 500  # steps
KINDS = 'task.scheduled_sampling:'


def get_sweep() -> dict:
    ratios = dict(teacher_forcing=0.0, share_10=0.1, share_25=0.25, share_50=0.5)
    schedules = dict(
        linear=dict(use=f'{KINDS}Linear', slope=0.5 / MIDDLE),
        exponential=dict(use=f'{KINDS}Exponential', base=0.5 ** (1 / MIDDLE)),
        inverse_sigmoid=dict(use=f'{KINDS}InverseSigmoid', scale=107.5),  # 107.5 log 107.5 is 503
    )
    tasks = {name: {'task.ratio': ratio, 'task.schedule': None} for name, ratio in ratios.items()}
    tasks |= {name: {'task.schedule': schedule} for name, schedule in schedules.items()}
    small = transformer(
        vocabulary=64,
        source_context_length=LENGTH,
        context_length=LENGTH,
        width=64,
        heads=4,
        layers=2,
        dropout=0.0,
        pre_norm=True,
    )
    models = dict(recurrent={}, transformer={'model': small})
    return dict(
        runs=dict(
            list=[
                {'name': f'{model}_{name}', **fields, **task}
                for model, fields in models.items()
                for name, task in tasks.items()
            ]
        ),
        seeds=5,
    )
