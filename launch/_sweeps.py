# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Launch of sweeps, for launch/sweep.py: a size that fits a budget, the search for settings, then the runs."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from saccade.analysis.report.compare import Question
from saccade.analysis.report.tuning import Search, read_search
from saccade.sweep.board import display, ending
from saccade.sweep.budget import TIMED, Timing, choose, smaller
from saccade.sweep.conduct import carry_out
from saccade.sweep.engine import Engine
from saccade.sweep.folder import SweepFolder
from saccade.sweep.plan import Plan
from saccade.sweep.record import Sweep
from saccade.train.process.terminal import say, verbatim
from saccade.types import UserError

TRAIN = (sys.executable, str(Path(__file__).absolute().with_name('train.py')))


@dataclass(frozen=True)
class Launch:
    """Launch of sweeps.

    Attributes: console; engine, made for the folder of a sweep; command that trains a run; dry_run, to start nothing.
    """

    console: Console
    engine: Callable[[SweepFolder], Callable[[int], AbstractContextManager[Engine]]]
    command: tuple[str, ...] = TRAIN
    dry_run: bool = False

    def fitting(
        self, folder: SweepFolder, planned: Callable[[str], Plan], sizes: Sequence[str], jobs: int, minutes: float
    ) -> Plan | None:
        """Time a short run of each variant, and return the plan of the largest size that fits; None where stopped.

        Args:
            planned: returns the plan of a size, without its costs.
            sizes: by name, the largest first.

        Raises:
            UserError: the sweep has no sizes, none fits, or nothing was timed and `dry_run` starts nothing.
        """
        whole = planned(sizes[0])
        asked = whole.timing(TIMED)
        timed = folder.sizing.joined(asked)
        if any(run.status != 'finished' for run in timed.runs):
            if self.dry_run:
                raise UserError('--budget times short runs first, and --dry_run starts none: leave it out once')
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
        """Carry out a sweep, and say how it ended and how to see what it shows."""
        sweep = carry_out(folder, asked, self.engine(folder), self.command, display(self.console, folder))
        flag = shlex.quote(f'--workdir={folder.path}')
        say(self.console, '\n'.join([*ending(sweep), f'See what it shows: python launch/report.py {flag}']))
        return sweep

    def tuned(self, folder: SweepFolder, plan: Plan) -> tuple[Plan | None, Sweep]:
        """Carry out the search of a plan, round by round.

        Returns:
            The plan with what was found, None where the search was stopped; and the last round as it then is.

        Raises:
            UserError: of a variant, no setting has finished all its seeds.
        """
        tune, variants, settings, rounds = plan.tune, [variant.name for variant in plan.variants], None, []
        for steps, count in tune.counts.items():
            rounds.append(folder.rung(steps))
            searched = self.carry_out(rounds[-1], plan.search(steps, settings))
            if any(run.status == 'waiting' for run in searched.runs):
                return None, searched
            _require_any(rounds[-1], searched)
            found = read_search(rounds, variants, Question(tune.metric, tune.split, tune.best))
            settings = found.rounds[steps].kept(tune.kept(count))
        chosen = found.rounds[steps].chosen()
        self._show(found, chosen)
        return plan.tuned(chosen), searched

    def _show(self, found: Search, chosen: Mapping[str, str]) -> None:
        heads, *rows = found.table(chosen)
        table = Table()
        for head in heads:
            table.add_column(verbatim(head), overflow='fold')
        for row in rows:
            table.add_row(*map(verbatim, row))
        self.console.print(table)
        say(self.console, found.moved())


def _require_any(folder: SweepFolder, searched: Sweep) -> None:
    """Refuse to choose where every run of a search has failed, and say how each of them ended."""
    if any(run.status == 'finished' for run in searched.runs):
        return
    each = '; '.join(': '.join([run.name, *run.last_lines[-1:]]) for run in searched.runs)
    raise UserError(f'{folder.path}: every run of the search has failed, so nothing can be chosen: {each}')
