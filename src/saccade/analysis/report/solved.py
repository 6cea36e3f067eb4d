# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Number of seeds that solved their task, and the steps that they needed.

A run with `stop_at` ends when it has solved its task; one that has not within its steps is censored there. The median
is that of E. L. Kaplan and P. Meier 1958, Nonparametric estimation from incomplete observations: the fewest steps by
which at least half of the runs have solved it. If fewer than half have, it is only known to be above the budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.analysis.report.compare import Comparison, RankedVariant


@dataclass(frozen=True)
class SolvedRuns:
    """Outcomes of the finished runs of a variant. Attributes: steps, of each run that solved it, sorted; runs; budget,
    maximum steps of a run.
    """

    steps: Sequence[int]
    runs: int
    budget: int

    @property
    def median(self) -> int | None:
        """Median of the steps to solve; None if fewer than half of the runs solved it."""
        middle = (self.runs - 1) // 2
        return self.steps[middle] if middle < len(self.steps) else None

    @property
    def mean(self) -> float:
        """Mean of the steps, with the budget for a run that did not solve it."""
        return (sum(self.steps) + self.budget * (self.runs - len(self.steps))) / self.runs

    def texts(self) -> tuple[str, str]:
        """Return the share of solved runs, and the median, as text."""
        return f'{len(self.steps)}/{self.runs}', f'> {self.budget:,}' if self.median is None else f'{self.median:,}'


def solved_runs(comparison: Comparison, row: RankedVariant) -> SolvedRuns | None:
    """Return the outcomes of a variant; None if no finished run has one."""
    finished = [trial for trial in row.trials if trial.final(comparison.split) and trial.solved is not None]
    if not finished:
        return None
    steps = sorted(trial.end for trial in finished if trial.solved)
    return SolvedRuns(steps, len(finished), max(trial.steps for trial in finished))


def any_solved(comparison: Comparison) -> bool:
    """Return True if a run of the comparison has an outcome."""
    return any(solved_runs(comparison, row) for row in comparison.standings)
