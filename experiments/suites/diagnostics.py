# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Abilities of mixers: six diagnostics, on rows of 32 tokens, by mixers of every family.

    python launch/suite.py --suite=experiments/suites/diagnostics.py --workdir=runs/suite --size=quick --jobs=2

The abilities are in-context recall, parity, selective copying, induction, a stack and counters. Parity and
counters are also evaluated on rows four times as long.
"""

from typing import Any

LENGTH = 32
DRAWN = 'data.diagnostic.'
PARITY = dict(use='data.diagnostic.word_problem:cyclic', order=2)


def get_suite() -> dict[str, Any]:
    return dict(
        recall=task(dict(use=f'{DRAWN}in_context:InContextRecall', keys=8, values=8), 16),
        parity=task(dict(use=f'{DRAWN}word_problem:WordProblem', group=PARITY), 2, longer=True),
        copying=task(dict(use=f'{DRAWN}copying:SelectiveCopy', symbols=14, count=6), 16),
        induction=task(dict(use=f'{DRAWN}copying:InductionHeads', symbols=14), 16),
        stack=task(dict(use=f'{DRAWN}stack:ReverseString'), 4),
        counters=task(dict(use=f'{DRAWN}counter:ShuffledBrackets'), 4, longer=True),
    )


def task(generator: dict[str, Any], vocabulary: int, longer: bool = False) -> dict[str, Any]:
    """Return a sweep over mixers. Args: longer, also evaluate on rows longer than in training."""
    return dict(
        config='experiments/diagnostics/recall.py',
        sweep='experiments/sweeps/diagnostics.py',
        fields={
            'batch_size': 32,
            'model.context_length': LENGTH,
            'model.vocabulary': vocabulary,
            'data.generator': generator,
            'data.validation': 400,
            'eval_lengths': [4 * LENGTH] if longer else [],
        },
    )
