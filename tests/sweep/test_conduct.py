# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A sweep carried out, by real processes that only pretend to train: to its end, through failures and interruptions."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pretended import Told, sweep_of, trainer, until

from saccade.sweep import conduct
from saccade.sweep.conduct import LAST_LINES, Conductor, carry_out, last_lines
from saccade.sweep.folder import SweepFolder
from saccade.sweep.local import NO_START, Local, MachineShare, Worker
from saccade.sweep.record import read_sweep
from saccade.train.log.log import read
from saccade.types import UserError

TWO_AT_A_TIME = partial(Local, [Worker(MachineShare()), Worker(MachineShare())])

# A launch in a process of its own, of a sweep that stands in its folder already.
LAUNCH = """
import sys
from functools import partial
from pathlib import Path
from pretended import Told, trainer
from saccade.sweep.conduct import carry_out
from saccade.sweep.folder import SweepFolder
from saccade.sweep.local import Local, MachineShare, Worker
from saccade.sweep.record import read_sweep

workers = [Worker(MachineShare()), Worker(MachineShare())]
folder = SweepFolder.of(sys.argv[1])
carry_out(folder, read_sweep(folder.path), partial(Local, workers), trainer(folder.path.parent), Told())
"""


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(conduct, '_POLL', 0.01)


@pytest.fixture
def folder(tmp_path):
    folder = SweepFolder.of(tmp_path / 'sweep')
    folder.path.mkdir()
    return folder


def launch(folder, asked, told=None, command=None):
    """Carry out a sweep, and see that its folder says the same of it."""
    sweep = carry_out(folder, asked, TWO_AT_A_TIME, command or trainer(folder.path.parent), told or Told())
    assert read_sweep(folder.path) == sweep
    return sweep


def go(folder):
    """Let the runs that wait go on."""
    (folder.path / '.go').touch()


def began(folder):
    """How often each run was begun, of those that were."""
    return {file.parent.name: len(file.read_text().split()) for file in sorted(folder.path.glob('*/began'))}


def trained(folder, run):
    return [record['step'] for record in read(folder.run(run) / 'metrics.jsonl') if record['split'] == 'train']


def statuses(sweep):
    return [run.status for run in sweep.runs]


def assert_each_step_once(folder, sweep):
    assert not (folder.path / '.twice').exists()
    for run in sweep.runs:
        assert trained(folder, run) == list(range(1, run.steps + 1)), run.name


def test_all_runs_are_carried_out_as_a_user_would_have(folder):
    told, asked = Told(), sweep_of('', '', '', steps=3)
    sweep = launch(folder, asked, told)
    assert statuses(sweep) == 3 * ['finished']
    assert sweep == replace(asked, runs=tuple(replace(run, status='finished', exit=0) for run in asked.runs))
    assert began(folder) == {'a': 1, 'b': 1, 'c': 1}
    assert_each_step_once(folder, sweep)
    assert [status for name, status in told.heard if name == 'c'] == ['running', 'finished']
    assert told.heard[:2] == [('a', 'running'), ('b', 'running')]
    header = (folder.path / 'a/printed.log').read_text().splitlines()[0]
    run = f'--config=my_config.py --workdir={folder.path / "a"} --config.steps=3 --config.does='
    assert header.endswith(f'{trainer(folder.path.parent)[-1]} {run}')


def test_a_run_that_fails_says_why_and_the_rest_finish(folder):
    sweep = launch(folder, sweep_of('fail', '', '', ''))
    assert statuses(sweep) == ['failed', 'finished', 'finished', 'finished']
    failed = sweep.runs[0]
    assert failed.exit == 3
    assert failed.last_lines[-2:] == ('it goes well', '[bold]no[/] such number')


def test_a_run_that_failed_is_begun_again_and_the_finished_are_not(folder):
    launch(folder, sweep_of('fail', ''))
    told = Told()
    sweep = launch(folder, sweep_of('fail', ''), told)
    assert began(folder) == {'a': 2, 'b': 1}
    assert statuses(sweep) == ['finished', 'finished']
    assert sweep.runs[0].last_lines == ()
    assert_each_step_once(folder, sweep)
    assert {name for name, _ in told.heard} == {'a'}


def test_a_command_that_cannot_be_started_fails_its_runs_and_not_the_sweep(folder):
    sweep = launch(folder, sweep_of('', '', ''), command=('/no/such/program',))
    assert [(run.status, run.exit) for run in sweep.runs] == 3 * [('failed', NO_START)]
    assert all('/no/such/program' in run.last_lines[-1] for run in sweep.runs)


def test_a_run_that_ends_well_without_having_finished_is_not_finished(folder):
    sweep = launch(folder, sweep_of('quit', ''))
    assert statuses(sweep) == ['waiting', 'finished']
    assert sweep.runs[0].exit == 0
    assert began(folder) == {'a': 1, 'b': 1}


def test_a_sweep_whose_runs_have_all_finished_begins_none(folder):
    launch(folder, sweep_of('', ''))
    assert statuses(launch(folder, sweep_of('', ''))) == ['finished', 'finished']
    assert began(folder) == {'a': 1, 'b': 1}


def test_a_sweep_that_has_grown_begins_what_is_new(folder):
    launch(folder, sweep_of('', ''))
    launch(folder, sweep_of('', '', '', ''))
    assert began(folder) == {'a': 1, 'b': 1, 'c': 1, 'd': 1}


def test_more_steps_continue_every_run(folder):
    launch(folder, sweep_of('', '', steps=2))
    sweep = launch(folder, sweep_of('', '', steps=5))
    assert statuses(sweep) == ['finished', 'finished']
    assert_each_step_once(folder, sweep)


def test_a_signal_stops_the_launch_and_the_same_command_continues(folder):
    """a finishes; b and c are at work when the signal comes and save; d has not begun."""

    def interrupt(run):
        if (run.name, run.status) == ('c', 'running'):
            until(lambda: all((folder.path / name / 'at-work').exists() for name in 'bc'))
            os.kill(os.getpid(), signal.SIGTERM)

    asked = sweep_of('', 'wait', 'wait', 'wait', steps=4)
    before = signal.getsignal(signal.SIGTERM)
    sweep = launch(folder, asked, Told(on_change=interrupt))
    assert signal.getsignal(signal.SIGTERM) == before
    assert statuses(sweep) == ['finished', 'waiting', 'waiting', 'waiting']
    assert [run.exit for run in sweep.runs] == [0, 0, 0, None]
    assert not any((folder.path / name / 'at-work').exists() for name in 'abc')

    go(folder)
    sweep = launch(folder, asked)
    assert statuses(sweep) == 4 * ['finished']
    assert began(folder) == {'a': 1, 'b': 2, 'c': 2, 'd': 1}
    assert_each_step_once(folder, sweep)


def test_a_run_that_dies_as_it_is_stopped_waits_and_has_not_failed(folder):
    conductor = Conductor(folder, sweep_of('a'), (sys.executable, '-c', 'import time; time.sleep(600)'), Told())
    with TWO_AT_A_TIME(os.open(folder.path / '.lock', os.O_CREAT | os.O_RDWR)) as engine:
        looks = iter([False, True])
        sweep = conductor.conduct(engine, lambda: next(looks))
    assert [(run.status, run.exit, run.last_lines) for run in sweep.runs] == [('waiting', -signal.SIGTERM, ())]


@pytest.mark.long
def test_a_sweep_whose_launch_was_killed_continues_with_no_run_repeated_and_none_lost(folder):
    """Two runs are at work when the launch is killed, and outlive it; the next launch lets them finish."""
    asked = sweep_of('wait', 'wait', 'wait', 'wait')
    folder.write(asked)
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get('PYTHONPATH', '')])
    killed = subprocess.Popen([sys.executable, '-c', LAUNCH, str(folder.path)], env={**os.environ, 'PYTHONPATH': path})
    try:
        begun = ['running', 'running', 'waiting', 'waiting']
        until(
            lambda: (
                (statuses(read_sweep(folder.path)) == begun and len(list(folder.path.glob('*/at-work'))) == 2)
                or killed.poll() is not None
            )
        )
    finally:
        killed.kill()
    assert killed.wait() == -signal.SIGKILL

    def let_them_finish():
        assert began(folder) == {'a': 1, 'b': 1}
        go(folder)

    told = Told(on_say=let_them_finish)
    sweep = launch(folder, asked, told)
    assert told.said == ['waiting for runs of an earlier launch, which are still running']
    assert statuses(sweep) == 4 * ['finished']
    assert began(folder) == {'a': 1, 'b': 1, 'c': 1, 'd': 1}
    assert_each_step_once(folder, sweep)


def test_a_run_that_was_killed_itself_goes_on_where_it_was(folder):
    def kill(run):
        if (run.name, run.status) == ('a', 'running'):
            pid = until(lambda: began(folder).get('a') and (folder.path / 'a/began').read_text())
            until(lambda: (folder.path / 'a/metrics.jsonl').exists() and len(trained(folder, run)) == 2)
            os.kill(int(pid), signal.SIGKILL)

    sweep = launch(folder, sweep_of('wait', ''), Told(on_change=kill))
    assert [(run.status, run.exit) for run in sweep.runs] == [('failed', -signal.SIGKILL), ('finished', 0)]
    (folder.path / 'a/at-work').unlink()
    sweep = launch(folder, sweep_of('wait', ''))
    assert statuses(sweep) == ['finished', 'finished']
    assert_each_step_once(folder, sweep)


def test_a_second_launch_is_refused_and_leaves_the_first_alone(folder):
    def launch_too(run):
        with pytest.raises(UserError, match='another launch of this sweep is running'):
            launch(folder, sweep_of('', ''), command=command)

    command = trainer(folder.path.parent)  # written once: a run that is starting reads it
    assert statuses(launch(folder, sweep_of('', ''), Told(on_change=launch_too), command)) == ['finished', 'finished']
    assert began(folder) == {'a': 1, 'b': 1}


def test_another_sweep_is_refused_before_a_run_begins(folder):
    launch(folder, sweep_of(''))
    with pytest.raises(UserError, match='holds another sweep'):
        launch(folder, sweep_of('wait', ''))
    assert began(folder) == {'a': 1}


def test_an_error_of_the_conductors_own_stops_the_runs(folder):
    def fail(run):
        until(lambda: began(folder).get('a'))
        raise UserError('the disk is full')

    with pytest.raises(UserError, match='the disk is full'):
        launch(folder, sweep_of('wait'), Told(on_change=fail))
    assert not (folder.path / 'a/at-work').exists()
    with folder.held(pytest.fail):
        pass


def test_the_last_lines_of_a_log_are_those_that_say_something(tmp_path):
    log = tmp_path / 'printed.log'
    assert last_lines(log) == ()
    log.write_bytes(b'first\n\n' + b''.join(b'line %d  \n \n' % line for line in range(50)) + b'\xff\n')
    assert last_lines(log) == (*(f'line {line}' for line in range(51 - LAST_LINES, 50)), '\ufffd')
