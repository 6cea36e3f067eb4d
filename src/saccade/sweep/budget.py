# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Budget of a sweep: the largest of its sizes that is predicted to take no more than so many minutes.

A short run of each variant of the largest size is timed first, by the engine of the sweep, as many at a time:

    seconds of a run = what the short run took beside its steps + steps x seconds of a step x FLOPs / FLOPs when timed

so starting, compiling and evaluating are counted, these as often as in the largest size. It is a prediction: other work
on the machine, a queue, and a last run that works alone while others have ended are not in it. Nor is the time saved by
runs that share a process, so the prediction is rather too long.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from saccade.sweep.folder import SweepFolder
from saccade.sweep.plan import Plan
from saccade.sweep.record import Sweep
from saccade.types import UserError

TIMED = 20  # steps of a run that is timed


@dataclass(frozen=True)
class Speed:
    """Speed of a variant as timed. Attributes: seconds beside the steps; of a step; FLOPs of a step then."""

    beside: float
    step: float
    flops: int

    def seconds(self, steps: int, flops: int) -> float:
        """Predict the seconds of a run of so many steps of so many FLOPs."""
        return self.beside + steps * self.step * flops / self.flops


@dataclass(frozen=True)
class Timing:
    """What short runs took. Attributes: speeds by variant; minutes that the timing itself took; runs at a time."""

    speeds: Mapping[str, Speed]
    minutes: float
    jobs: int

    @classmethod
    def of(cls, folder: SweepFolder, sweep: Sweep, plan: Plan, jobs: int) -> 'Timing':
        """Read what the short runs of a plan took.

        Raises:
            UserError: one has not finished, or was not timed from its beginning to its end.
        """
        costs = {variant.name: variant.cost for variant in plan.variants}
        speeds = {}
        for run in sweep.runs:
            logged = folder.speeds(run)
            if run.status != 'finished' or run.seconds is None or not logged:
                raise UserError(
                    f'{folder.run(run)}: this run is to be timed, and is {run.status}; see its printed.log, or delete '
                    f'{folder.path} to time anew'
                )
            cost = costs[run.variant]
            step = cost.tokens / median(logged[1:] or logged)  # the first ones may have warmed up
            speeds[run.variant] = Speed(max(run.seconds - run.steps * step, 0.0), step, cost.flops)
        return cls(speeds, sum(run.seconds for run in sweep.runs) / jobs / 60, jobs)

    def predict(self, plan: Plan) -> float:
        """Predict the minutes of all runs of a plan, the timing included.

        Raises:
            UserError: a variant was not timed.
        """
        seconds = 0.0
        steps = plan.run_steps()
        for variant in plan.variants:
            if variant.name not in self.speeds:
                raise UserError(f'sizes: {variant.name} is not in the first size, which is the one that is timed')
            speed = self.speeds[variant.name]
            seconds += sum(speed.seconds(each, variant.cost.flops) for each in steps[variant.name])
        return self.minutes + seconds / self.jobs / 60


def smaller(plan: Plan, whole: Plan) -> str:
    """What a plan leaves out of a larger one, in words; empty where nothing."""
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
        predicted: minutes of each size by name, from the largest.

    Raises:
        UserError: none does; the minutes that the smallest needs are named.
    """
    for name, needed in predicted:
        if needed <= minutes:
            return name
    name, needed = predicted[-1]
    raise UserError(
        f"--budget={minutes:g}: even the smallest size, '{name}', is predicted to take {needed:.0f} minutes: give "
        f'{int(needed) + 1} or more'
    )


def _searched(plan: Plan) -> int:
    tune = plan.tune
    return len(plan.variants) * sum(tune.counts.values()) * len(tune.seeds) if tune else 0
