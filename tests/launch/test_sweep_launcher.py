# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A sweep from the command line: carried out, with a failure, interrupted and continued, and what it refuses."""

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from refused import assert_refused

from saccade.sweep.record import read_sweep
from saccade.train.experiment import Experiment
from saccade.train.log.log import read
from saccade.train.setup import ExperimentCost
from saccade.train.workdir import Workdir

PATIENCE = 240  # seconds
JOBS = f'--jobs={min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())}'
ONE_FAILS = """\"\"\"Does it [/] learn?\"\"\"

def get_sweep():
    too_fast = {'name': 'too fast', 'schedule.peak': 1e30, 'optimizer.clip_norm': None}
    return dict(runs=dict(list=[too_fast, {}]))
"""
DEPTHS = """\"\"\"How deep?\"\"\"

def get_sweep():
    return dict(runs=dict(grid={'model.layers': [1, 2]}), seeds=2)
"""

TUNED = """\"\"\"How fast?\"\"\"

def get_sweep():
    rates = {'schedule.peak': [4e-4, 1e-2]}
    return dict(runs=dict(list=[{'model.layers': 1}]), seeds=[3], tune=dict(by=rates, seeds=[7]))
"""


@dataclass(frozen=True)
class Sweeper:
    """Attributes: runner, which runs launchers; workdir of the sweep; file that says what is swept."""

    runner: Any
    workdir: Path
    file: Path

    def arguments(self, *more: str) -> list[str]:
        config, workdir, *small = self.runner.small(self.workdir)
        layers = '--config.model.layers=2'
        assert layers in small  # which the sweeps set themselves
        return [config, workdir, f'--sweep={self.file}', JOBS, *(flag for flag in small if flag != layers), *more]

    def run(self, *more: str) -> Any:
        return self.runner.run('sweep', *self.arguments(*more))


def write(folder: Path, text: str) -> Path:
    file = folder / 'my_sweep.py'
    file.write_text(text)
    return file


@pytest.fixture(scope='module')
def failing(runner, tmp_path_factory) -> tuple[Sweeper, Any]:
    """A sweep that has been carried out, one of whose runs fails, both beginning at once on an empty cache."""
    folder = tmp_path_factory.mktemp('failing')
    runner = replace(runner, environment={**runner.environment, 'SACCADE_CACHE': str(folder / 'cache')})
    sweeper = Sweeper(runner, folder / 'sweep', write(folder, ONE_FAILS))
    return sweeper, sweeper.run('--config.model.layers=1', '--config.steps=4')


@pytest.mark.long
def test_a_run_fails_the_rest_finish_and_the_exit_status_says_so(failing):
    sweeper, done = failing
    assert done.returncode == 1, done.stderr
    failed, finished = read_sweep(sweeper.workdir).runs
    assert (failed.name, failed.status, failed.exit) == ('too-fast,seed=0', 'failed', 2)
    assert 'is not finite' in failed.last_lines[-1]
    assert (finished.name, finished.status, finished.exit) == ('base,seed=0', 'finished', 0)
    records = read(sweeper.workdir / 'base,seed=0/metrics.jsonl')
    assert [record['step'] for record in records if record['split'] == 'train'] == [1, 2, 3, 4]


@pytest.mark.long
def test_what_a_sweep_prints(failing):
    sweeper, done = failing
    assert done.stderr == ''
    lines = done.stdout.splitlines()
    assert lines[0] == 'sweep       Does it [/] learn?'
    assert 'runs        2: 2 variants x 1 seeds' in lines
    assert 'now         2 waiting' in lines
    assert any('too-fast' in line and '1e+30' not in line for line in lines if line.startswith('│'))
    events = [line.split(maxsplit=3)[1:3] for line in lines if ',seed=0' in line and line[2:3] == ':']
    assert sorted(events) == sorted(
        [['running', 'too-fast,seed=0'], ['running', 'base,seed=0'], ['failed', 'too-fast,seed=0'],
         ['finished', 'base,seed=0:']]
    )  # fmt: skip
    assert '1 finished, 1 failed' in lines
    assert any(line.startswith('  too-fast,seed=0 (exit 2): error: step ') for line in lines)
    assert lines[-2] == 'The same command continues.'
    report = Path(__file__).parents[2] / 'launch/report.py'  # the tests run in another folder
    assert lines[-1].endswith(f': python {report} --workdir={sweeper.workdir}')


@pytest.mark.long
def test_the_cost_that_is_printed_first_is_the_plan_of_the_run(failing):
    folder = failing[0].workdir / 'base,seed=0'
    plan = read(folder / 'metrics.jsonl')[0]
    cost = ExperimentCost.of(Experiment.of(Workdir.existing(folder).read_config()))
    assert plan['split'] == 'plan'
    assert (cost.parameters, cost.flops, cost.tokens) == (plan['parameters'], plan['flops'], plan['tokens'])
    assert f' {cost.parameters:,} │' in failing[1].stdout


@pytest.mark.long
def test_a_dry_run_prints_what_is_left_and_begins_nothing(failing):
    sweeper, _ = failing
    before = sorted((file, file.stat().st_mtime_ns) for file in sweeper.workdir.rglob('*'))
    done = sweeper.run('--config.model.layers=1', '--config.steps=4', '--dry_run', '--json')
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('\n') == 1
    assert [run['status'] for run in json.loads(done.stdout)['runs']] == ['waiting', 'finished']
    assert sorted((file, file.stat().st_mtime_ns) for file in sweeper.workdir.rglob('*')) == before


@pytest.mark.long
@pytest.mark.parametrize(
    ('text', 'more', 'words'),
    [
        (DEPTHS.replace('layers', 'layer'), [], "the config has no field 'layer'; did you mean 'layers'?"),
        (DEPTHS.replace('[1, 2]', '[]'), [], 'runs.grid.model.layers: it is empty'),
        (DEPTHS, ['--jobs=1000'], '--jobs=1000: must be between 1 and '),
        (DEPTHS, ['--sweep='], 'give --config=FILE, --sweep=FILE and --workdir=FOLDER'),
    ],
)
def test_bad_input_is_one_line_and_status_2(runner, tmp_path, text, more, words):
    done = Sweeper(runner, tmp_path / 'sweep', write(tmp_path, text)).run(*more)
    assert_refused(done, words)
    assert not (tmp_path / 'sweep').exists()


@pytest.mark.long
def test_a_folder_with_another_sweep_is_refused(failing, tmp_path):
    sweeper, _ = failing
    before = (sweeper.workdir / 'sweep.json').read_text()
    assert_refused(replace(sweeper, file=write(tmp_path, DEPTHS)).run(), 'holds another sweep (sweep.json): its run')
    assert (sweeper.workdir / 'sweep.json').read_text() == before


@pytest.fixture(scope='module')
def uninterrupted(runner, tmp_path_factory) -> Path:
    """The folder of a sweep that was left in peace."""
    folder = tmp_path_factory.mktemp('uninterrupted')
    done = Sweeper(runner, folder / 'sweep', write(folder, DEPTHS)).run()
    assert done.returncode == 0, done.stderr
    return folder / 'sweep'


@pytest.mark.long
@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGTERM])
def test_an_interrupted_sweep_continues_with_no_step_repeated_and_none_lost(runner, uninterrupted, tmp_path, number):
    """Killed, the launch leaves runs at work, which the next leaves in peace; told to end, it has them save."""
    sweeper = Sweeper(runner, tmp_path / 'sweep', write(tmp_path, DEPTHS))
    process = runner.start('sweep', *sweeper.arguments())
    try:
        until(lambda: '"step": 5, ' in metrics(tmp_path / 'sweep') or process.poll() is not None)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    left = [run.status for run in read_sweep(sweeper.workdir).runs]
    assert left.count('finished') < 4, out + err
    assert (process.returncode, 'running' in left) == ((1, False) if number == signal.SIGTERM else (-number, True))

    done = sweeper.run()
    assert done.returncode == 0, done.stdout + done.stderr
    # What a kill leaves at work may have ended by the time the next launch looks; that it waits, test_folder shows.
    assert number == signal.SIGKILL or 'waiting for runs of an earlier launch' not in done.stdout
    runs = read_sweep(sweeper.workdir).runs
    assert [run.status for run in runs] == 4 * ['finished']
    for run in runs:
        found, wanted = (losses(folder / run.name) for folder in (sweeper.workdir, uninterrupted))
        assert found == wanted, run.name
        assert len(found) == len({place for place, _ in found}) == 24  # a plan, 20 steps, 2 evaluations, a baseline


def losses(folder: Path) -> list[tuple[tuple[int, str], float | None]]:
    return [((line['step'], line['split']), line.get('loss')) for line in read(folder / 'metrics.jsonl')]


def metrics(folder: Path) -> str:
    return ''.join(file.read_text() for file in folder.glob('*/metrics.jsonl'))


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.long
def test_a_variant_is_tuned_first_and_the_same_command_goes_on(runner, tmp_path):
    sweeper = Sweeper(runner, tmp_path / 'sweep', write(tmp_path, TUNED))
    done = sweeper.run('--config.steps=6')
    assert done.returncode == 0, done.stderr
    assert 'peak=0.01' in done.stdout
    assert [run.name for run in read_sweep(sweeper.workdir / 'tuning').runs] == [
        'layers=1,peak=0.0004,seed=7', 'layers=1,peak=0.01,seed=7'
    ]  # fmt: skip
    (run,) = read_sweep(sweeper.workdir).runs
    assert run.name == 'layers=1,seed=3'
    assert '--config.schedule.peak=0.01' in run.overrides
    logs = {file: file.read_text() for file in sweeper.workdir.rglob('metrics.jsonl')}
    assert len(logs) == 3
    again = sweeper.run('--config.steps=6')
    assert again.returncode == 0, again.stderr
    assert {file: file.read_text() for file in sweeper.workdir.rglob('metrics.jsonl')} == logs
    shown = runner.run('report', f'--workdir={sweeper.workdir}')
    assert shown.returncode == 0, shown.stderr
    assert '## Tuning' in (sweeper.workdir / 'report/report.md').read_text()
