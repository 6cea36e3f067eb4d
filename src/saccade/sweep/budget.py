# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Budget of a sweep: the largest of its sizes with a predicted duration within the given minutes.

First, a short run of each variant of the largest size is timed, with the engine and parallelism of the sweep:

    seconds of a run = overhead of the short run + steps x seconds per step x FLOPs / FLOPs of the short run

The overhead (start, compilation, evaluations as frequent as in the largest size) is included. The prediction ignores
other load on the machine, a queue, and a last run that runs while other slots are idle. It also ignores the time saved
by runs that share a process, so it overestimates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from saccade.sweep.folder import SweepFolder
from saccade.sweep.plan import SweepPlan
from saccade.sweep.record import Sweep
from saccade.types import UserError

TIMED = 20  # steps of a timed run


@dataclass(frozen=True)
class Speed:
    """Measured speed of a variant. Attributes: overhead, in seconds; step, seconds per step; flops per step."""

    overhead: float
    step: float
    flops: int

    def seconds(self, steps: int, flops: int) -> float:
        """Return the predicted seconds of a run of `steps` steps of `flops` FLOPs."""
        return self.overhead + steps * self.step * flops / self.flops


@dataclass(frozen=True)
class Timing:
    """Result of the short runs. Attributes: speeds by variant; minutes of the timing itself; jobs, parallel runs."""

    speeds: Mapping[str, Speed]
    minutes: float
    jobs: int

    @classmethod
    def of(cls, folder: SweepFolder, sweep: Sweep, plan: SweepPlan, jobs: int) -> 'Timing':
        """Read the durations of the short runs of a plan.

        Raises:
            UserError: a run has not finished, or was not timed from start to end.
        """
        costs = {variant.name: variant.cost for variant in plan.variants}
        speeds = {}
        for run in sweep.runs:
            logged = folder.speeds(run)
            if run.status != 'finished' or run.seconds is None or not logged:
                raise UserError(
                    f'{folder.run(run)}: this run cannot be timed, its status is {run.status}; see its printed.log, or '
                    f'delete {folder.path} to time again'
                )
            cost = costs[run.variant]
            step = cost.tokens / median(logged[1:] or logged)  # the first value may include warm-up
            speeds[run.variant] = Speed(max(run.seconds - run.steps * step, 0.0), step, cost.flops)
        return cls(speeds, sum(run.seconds for run in sweep.runs) / jobs / 60, jobs)

    def predict(self, plan: SweepPlan) -> float:
        """Return the predicted minutes of all runs of a plan, including the timing.

        Raises:
            UserError: a variant was not timed.
        """
        seconds = 0.0
        steps = plan.run_steps()
        for variant in plan.variants:
            if variant.name not in self.speeds:
                raise UserError(f'sizes: {variant.name} is not in the first size, which is the timed one')
            speed = self.speeds[variant.name]
            seconds += sum(speed.seconds(each, variant.cost.flops) for each in steps[variant.name])
        return self.minutes + seconds / self.jobs / 60


def smaller(plan: SweepPlan, whole: SweepPlan) -> str:
    """Return the differences of a plan from a larger one, in words; empty for none."""
    said = []
    counts = [
        ('steps', *(each.sweep.base['steps'] for each in (plan, whole))),
        ('seeds', *(len({run.seed for run in each.sweep.runs}) for each in (plan, whole))),
        ('runs of the search', *(_searched(each) for each in (plan, whole))),
    ]
    said += [f'{name} {mine:,} instead of {other:,}' for name, mine, other in counts if mine != other]
    mine = {variant.name for variant in plan.variants}
    if left := [variant.name for variant in whole.variants if variant.name not in mine]:
        said.append(f'without {", ".join(left)}')
    return '; '.join(said)


def choose(minutes: float, predicted: Sequence[tuple[str, float]]) -> str:
    """Return the name of the first size that is predicted to fit.

    Args:
        predicted: name and predicted minutes of each size, largest first.

    Raises:
        UserError: none fits; the message has the minutes of the smallest.
    """
    for name, needed in predicted:
        if needed <= minutes:
            return name
    name, needed = predicted[-1]
    raise UserError(
        f"--budget={minutes:g}: even the smallest size, '{name}', is predicted to take {needed:.0f} minutes: give "
        f'{int(needed) + 1} or more'
    )


def _searched(plan: SweepPlan) -> int:
    tune = plan.tune
    return len(plan.variants) * sum(tune.counts.values()) * len(tune.seeds) if tune else 0
