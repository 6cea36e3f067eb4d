# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Phases of launch/sweep.py: choosing a size for a budget, hyper-parameter search, and the runs."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from saccade.analysis.report.compare import StudyQuestion
from saccade.analysis.report.tuning import TuningSearch, read_search
from saccade.commands import as_called
from saccade.sweep.board import display, ending
from saccade.sweep.budget import TIMED, Timing, choose, smaller
from saccade.sweep.conduct import carry_out
from saccade.sweep.engine import Engine
from saccade.sweep.folder import SweepFolder
from saccade.sweep.plan import SweepPlan
from saccade.sweep.record import Sweep, read_sweep
from saccade.train.process.terminal import columns, say
from saccade.types import UserError

TRAIN = (sys.executable, str(Path(__file__).absolute().with_name('train.py')))


@dataclass(frozen=True)
class Launch:
    """Launch of sweeps.

    Attributes:
        console: the console for output.
        engine: creates the engine for the folder of a sweep.
        command: command that trains a run.
        dry_run: start nothing.
    """

    console: Console
    engine: Callable[[SweepFolder], Callable[[int], AbstractContextManager[Engine]]]
    command: tuple[str, ...] = TRAIN
    dry_run: bool = False

    def fitting(
        self, folder: SweepFolder, planned: Callable[[str], SweepPlan], sizes: Sequence[str], jobs: int, minutes: float
    ) -> SweepPlan | None:
        """Time a short run of each variant, and return the plan of the largest size that fits; None if interrupted.

        Args:
            folder: folder of the sweep.
            planned: returns the plan of a size, without its costs.
            sizes: names of the sizes, the largest first.
            jobs: number of runs at a time.
            minutes: the budget, in minutes.

        Raises:
            UserError: the sweep has no sizes, none fits, or `dry_run` is set and there are no stored timings.
        """
        whole = planned(sizes[0])
        asked = whole.timing(TIMED)
        timed = folder.sizing.joined(asked)
        if any(run.status != 'finished' for run in timed.runs):
            if self.dry_run:
                raise UserError('--budget first times short runs, which --dry_run does not start: omit --dry_run once')
            lines = display(self.console, folder.sizing)
            timed = carry_out(folder.sizing, asked, self.engine(folder.sizing), self.command, lines)
        if any(run.status == 'waiting' for run in timed.runs):
            return None
        timing = Timing.of(folder.sizing, timed, whole, jobs)
        predicted, plan = [], whole
        for name in sizes:
            plan = whole if name == sizes[0] else planned(name)
            predicted.append((name, timing.predict(plan)))
            if predicted[-1][1] <= minutes:
                break
        chosen = choose(minutes, predicted)
        say(self.console, '\n'.join(f'size        {name}: about {needed:.0f} minutes' for name, needed in predicted))
        left = smaller(plan, whole)
        say(self.console, f'chosen      {chosen} for a budget of {minutes:g} minutes{f": {left}" if left else ""}')
        return plan

    def carry_out(self, folder: SweepFolder, asked: Sweep) -> Sweep:
        """Run a sweep, and print its outcome and the command for its report."""
        say(self.console, f'live page   {folder.path / "live.html"}')
        sweep = carry_out(folder, asked, self.engine(folder), self.command, display(self.console, folder))
        flag = shlex.quote(f'--workdir={folder.path}')
        report = as_called(f'python launch/report.py {flag}')
        say(self.console, '\n'.join([*ending(sweep), f'Report: {report}']))
        return sweep

    def tuned(self, folder: SweepFolder, plan: SweepPlan) -> tuple[SweepPlan | None, Sweep]:
        """Run the hyper-parameter search of a plan, round by round.

        Returns:
            The plan with the chosen settings, None if the search was interrupted; and the record of the last round.

        Raises:
            UserError: no setting of a variant has finished all its seeds.
        """
        tune, rounds = plan.tune, []
        settings = plan.settings(read_sweep(folder.rung(tune.rungs[0]).path))
        for steps, count in tune.counts.items():
            rounds.append(folder.rung(steps))
            searched, found = self._searched(rounds, plan, settings)
            if found is None:
                return None, searched
            settings = found.rounds[steps].kept(tune.kept(count))
        extended = plan.settings(searched, found.rounds[steps].chosen())
        if tune.beyond and len(plan.search(steps, extended).runs) > len(searched.runs):
            searched, found = self._searched(rounds, plan, extended)
            if found is None:
                return None, searched
        chosen = found.rounds[steps].chosen()
        self._show(found, chosen)
        return plan.tuned(chosen), searched

    def _searched(
        self, rounds: Sequence[SweepFolder], plan: SweepPlan, settings: Mapping[str, Sequence[str]]
    ) -> tuple[Sweep, TuningSearch | None]:
        """Run the last of the rounds of a search, and read all of them; None if it was interrupted."""
        tune, folder, variants = plan.tune, rounds[-1], [variant.name for variant in plan.variants]
        searched = self.carry_out(folder, plan.search(folder.rung_steps, settings))
        if any(run.status == 'waiting' for run in searched.runs):
            return searched, None
        _require_any(folder, searched)
        return searched, read_search(rounds, variants, StudyQuestion(tune.metric, tune.split, tune.best))

    def _show(self, found: TuningSearch, chosen: Mapping[str, str]) -> None:
        self.console.print(columns(found.table(chosen)))
        say(self.console, '\n'.join(filter(None, [found.at_edges(chosen), found.moved()])))


def _require_any(folder: SweepFolder, searched: Sweep) -> None:
    """Raise a UserError with the last line of each run if every run of a search has failed."""
    if any(run.status == 'finished' for run in searched.runs):
        return
    each = '; '.join(': '.join([run.name, *run.last_lines[-1:]]) for run in searched.runs)
    raise UserError(f'{folder.path}: every run of the search has failed, so there is no setting to choose: {each}')
