# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Arena of mixers: nine mixers with and without a short convolution, on five tasks.

    python launch/suite.py --suite=experiments/suites/arena.py --workdir=runs/arena --jobs=2

The protocol is docs/results/protocol.md. Induction is evaluated on longer rows too, where the token to find is a needle
in a haystack. A run stops when it has solved its task, or at its budget of steps.
"""

from typing import Any

DRAWN = 'data.diagnostic.'
BUDGET, EVERY = 1200, 100  # steps of a run, and between its evaluations


def get_suite() -> dict[str, Any]:
    recall = dict(use=f'{DRAWN}recall:MultiQueryRecall', vocabulary=64, pairs=6, spread=1.0)
    copying = dict(use=f'{DRAWN}copying:SelectiveCopy', symbols=14, count=8)
    induction = dict(use=f'{DRAWN}copying:InductionHeads', symbols=15)
    parity, permutations = word_problem('cyclic', order=2), word_problem('symmetric', degree=3)
    first = dict(control='attention,on', length=48)
    return dict(
        recall=task(recall, 64, **first),
        copying=task(copying, 16, **first),
        induction=task(induction, 16, longer=[96, 192, 384], **first),
        parity=task(parity, 2, length=40, shortest=3, longer=[80, 160, 320], control='lstm,off'),
        permutations=task(permutations, 6, length=24, shortest=3, longer=[48, 96, 192], control='delta_product,off'),
    )


def word_problem(group: str, **size: int) -> dict[str, Any]:
    return dict(use=f'{DRAWN}word_problem:WordProblem', group=dict(use=f'{DRAWN}word_problem:{group}', **size))


def task(
    generator: dict[str, Any],
    vocabulary: int,
    *,
    length: int,
    shortest: int | None = None,
    longer: list[int] | None = None,
    control: str | None = None,
) -> dict[str, Any]:
    """Return a sweep over mixers.

    Args:
        length: tokens per row in training, at most.
        shortest: minimum number of tokens per row; None for full rows.
        longer: further lengths of rows for evaluation.
        control: variant that must solve the task for the sweep to be evidence.
    """
    return dict(
        config='experiments/diagnostics/recall.py',
        sweep='experiments/sweeps/arena.py',
        control=control,
        fields={
            'batch_size': 32,
            'steps': BUDGET,
            'eval_every': EVERY,
            'checkpoint_every': BUDGET,
            'stop_at': {'accuracy': 0.99},
            'model.context_length': length,
            'model.vocabulary': vocabulary,
            'data.generator': generator,
            'data.shortest': shortest,
            'data.validation': 400,
            'eval_lengths': longer or [],
        },
    )
