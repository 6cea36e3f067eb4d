# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Run a suite, several sweeps of the same variants or of published claims, and report: the same command continues it.

The report is a matrix of variants and sweeps, with a verdict on each claim. Each sweep has a subfolder of --workdir,
and runs as in launch/sweep.py. A failed sweep does not stop the others. --page=FILE.md writes the results page, as in
docs/results; --page=FILE.html, the matrix as one file; --page=FILE.svg, the scores by two crossed factors.
--records=FILE.tar.xz keeps what reports need of finished runs, so that another machine continues from the file.
--report reports on the finished runs, and starts none.

python launch/suite.py --suite=experiments/suites/diagnostics.py --workdir=runs/suite --size=few --jobs=2
python launch/suite.py --suite=experiments/suites/replications.py --workdir=runs/replications \
    --records=docs/results/replications.tar.xz --report
"""

import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from absl import flags

from saccade.train.process.given import refuse_given
from saccade.train.process.main import run_main
from saccade.train.process.output import require_file, require_folder
from saccade.train.process.terminal import say
from saccade.types import UserError

if TYPE_CHECKING:
    from saccade.analysis.report.matrix import Matrix
    from saccade.analysis.report.replications import Replication
    from saccade.sweep.suite import Suite

SUITE = flags.DEFINE_string('suite', None, 'File with get_suite(); the shipped suites are in experiments/suites/.')
WORKDIR = flags.DEFINE_string('workdir', None, "The suite's folder; each sweep has a subfolder.")
SIZE = flags.DEFINE_string('size', None, 'Size of each sweep, from its list; default: the size that the suite names.')
BUDGET = flags.DEFINE_float(
    'budget', None, 'Minutes for all sweeps, in equal parts; chooses the largest size that fits.', 0.0
)
JOBS = flags.DEFINE_integer(
    'jobs', None, 'Runs at a time, each on a GPU or an equal share of the cores; by default what the machine can do.'
)
ENGINE = flags.DEFINE_enum('engine', 'local', ['local', 'slurm'], 'Where runs are carried out: here, or on a cluster.')
SLURM = flags.DEFINE_multi_string('slurm', [], 'KEY=VALUE, options of sbatch: time in minutes, partition, ...')
PAGE = flags.DEFINE_multi_string(
    'page', [], 'File for the results: a page, .md; the matrix, .html; its cells, .csv; its factors drawn, .svg.'
)
RECORDS = flags.DEFINE_string(
    'records', None, 'Archive of finished runs, .tar.xz: they are not repeated; it is written again at the end.'
)
FORCE = flags.DEFINE_bool('force', False, 'Train even if a step needs far more memory than a device has.')
DRY_RUN = flags.DEFINE_bool('dry_run', False, 'Print the runs of each sweep, and start nothing.')
REPORT = flags.DEFINE_bool('report', False, 'Report on the finished runs of --workdir and --records, and start none.')

KINDS = ('.md', '.html', '.csv', '.svg')  # of --page
_POLL = 0.2  # seconds between two looks at a sweep
SWEEP = (sys.executable, str(Path(__file__).absolute().with_name('sweep.py')))


def main(overrides: list[str]) -> None:
    """Run all sweeps, and exit with an error status if one has not finished.

    Raises:
        UserError: --suite or --workdir is missing, the suite is invalid, a flag has no effect, or the page cannot be
            written.
    """
    from rich.console import Console

    from saccade.analysis.report.compare import StudyQuestion
    from saccade.analysis.report.matrix import sweeps_in
    from saccade.analysis.report.matrix_files import matrix_report
    from saccade.analysis.report.replications import replications, shown
    from saccade.sweep.archive import archive, restore
    from saccade.sweep.suite import Suite
    from saccade.train.process.processes import stop_signal
    from saccade.train.workdir import absolute, write_atomically

    if not (SUITE.value and WORKDIR.value):
        raise UserError('give --suite=FILE and --workdir=FOLDER; the shipped suites are in experiments/suites/')
    if SIZE.value is not None and BUDGET.value is not None:
        raise UserError('give --budget or --size, not both: a budget chooses a size')
    if ENGINE.value == 'local':
        refuse_given('without --engine=slurm', SLURM)
    if DRY_RUN.value:
        refuse_given('with --dry_run', PAGE)
    if REPORT.value:
        refuse_given('with --report', SIZE, BUDGET, JOBS, ENGINE, FORCE, DRY_RUN)
        if overrides:
            raise UserError(f"'{overrides[0]}': has no effect with --report, which starts no run")
    require_folder('workdir', WORKDIR.value)
    for file in PAGE.value:
        require_file('page', file)
        if Path(file).suffix not in KINDS:
            raise UserError(f'--page={file}: the name must end with {" or ".join(KINDS)}')
    if RECORDS.value:
        require_file('records', RECORDS.value)
    console, suite, folder = Console(highlight=False), Suite.of(SUITE.value), absolute(WORKDIR.value)
    asked = _asked(len(suite.tasks))
    if RECORDS.value and Path(RECORDS.value).exists():
        restore(Path(RECORDS.value), folder)
    if REPORT.value and not sweeps_in(folder):
        raise UserError(f'--report: no sweep in {folder} has a finished run; --records names the archive of one')
    unfinished = []
    with stop_signal() as stopped:
        for task in () if REPORT.value else suite.tasks:
            if stopped():
                unfinished.append(task.name)
                continue
            say(console, f'{task.name}: the sweep is in {folder / task.name}')
            size = [f'--size={task.size}'] if task.size and SIZE.value is None and BUDGET.value is None else []
            if _status([*SWEEP, *task.flags(folder), *size, *asked, *overrides], stopped):
                unfinished.append(task.name)
    if RECORDS.value and not DRY_RUN.value:
        say(console, f'{RECORDS.value}: {archive(folder, Path(RECORDS.value)):,} finished runs')
    if not (DRY_RUN.value or stopped()) and sweeps_in(folder):
        found = matrix_report(folder, StudyQuestion())
        decided = replications(suite, found.matrix)
        found.show(console)
        if decided:
            shown(decided).show(console)
        for file in PAGE.value:
            write_atomically(Path(file), _page(Path(file).suffix, found.matrix, suite, decided))
            say(console, file)
    if unfinished:
        raise UserError(f'not finished: {", ".join(unfinished)}; the reasons are above. The same command continues')


def _page(kind: str, found: 'Matrix', suite: 'Suite', decided: 'Sequence[Replication]') -> str:
    """Return the results as the content of a file with this ending, one of KINDS."""
    from saccade.analysis.report.matrix_files import published_page, published_picture
    from saccade.analysis.report.page import as_csv
    from saccade.analysis.report.standing import standing_page

    command, now = [flag for flag in sys.argv if flag != '--report'], datetime.now().astimezone()
    kinds = {
        '.md': lambda: standing_page(found, suite, shlex.join(['python', *command]), now, decided),
        '.html': lambda: published_page(found, suite, now),
        '.csv': lambda: as_csv(found.records() or [{'variant': None}]),
        '.svg': lambda: published_picture(found),
    }
    return kinds[kind]()


def _status(command: Sequence[str], stopped: Callable[[], bool]) -> int:
    """Run a command and return its exit status; pass a request to stop on to it."""
    process = subprocess.Popen(command)
    while process.poll() is None and not stopped():
        time.sleep(_POLL)
    if process.poll() is None:
        process.terminate()
    return process.wait()


def _asked(tasks: int) -> list[str]:
    """Return the flags for all sweeps."""
    each = {
        'size': SIZE.value,
        'budget': BUDGET.value and BUDGET.value / tasks,
        'jobs': JOBS.value,
        'engine': ENGINE.value,
        'dry_run': DRY_RUN.value or None,
        'force': FORCE.value or None,
    }
    given = [f'--{name}={value}' for name, value in each.items() if value is not None]
    return [*given, *(f'--slurm={setting}' for setting in SLURM.value)]


if __name__ == '__main__':
    run_main(main)
