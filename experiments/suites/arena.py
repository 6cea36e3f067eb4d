# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Arena of mixers: nine mixers with and without a short convolution.

    python launch/suite.py --suite=experiments/suites/arena.py --workdir=runs/arena --jobs=2

Two layers of width 64 after a causal depthwise convolution over 4 tokens (on) or none (off). A run stops when 99% of
the answers are right on 400 rows, which are the same for all runs and choose the rate too, or at 1,200 steps. A task
that is not solved in 1,200 steps might be solved with more. delta_net_negative is DeltaNet with b up to 2; peak is the
highest learning rate.

docs/results/protocol.md, committed before the runs, has the tasks, the margin and the planned contrasts: the
convolution on against off, in each mixer and as a mean over the mixers other than RWKV-7, and each mixer against
attention with and without the convolution. All other differences are exploratory: the interactions, the effects of
mixers over both levels of the convolution, and the convolution's over "all", which here include RWKV-7. The
protocol, "Deviations", has the planned means and their verdicts; the verdict in parity differs.

If neither of two variants learns anything, or if both solve a task in all seeds, the verdict on their difference is
"not worse" by necessity. It then says only that these runs solved the task: with five seeds of five, a variant may
still fail in up to 45% of seeds (one-sided 95% bound). Compare the seeds solved and the steps.

Chance is that of a guess among all values. A guess among the 6 values of a row of recall has an accuracy of 0.167.
Induction is evaluated on longer sequences too, where the token to find is a needle in a haystack.
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
