# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a Slurm job does on the host it is given, with one run and with several of one program."""

import math
import pickle
import signal
import sys
import threading
from contextlib import contextmanager

import pytest
from pretended import until

from saccade.sweep.engine import Job
from saccade.sweep.slurm_job import OFFERED, SlurmTraining, claim

pytest.importorskip('submitit')

# A launcher that says which process it is, and does what --do says: it may wait until it is told to go on or to end.
LAUNCHER = """
import os, pathlib, signal, sys, time
from absl import flags

DO = flags.DEFINE_string('do', '', 'Python.')

def wait():
    stopped = []
    before = signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    print('up', flush=True)
    while not stopped and not pathlib.Path(sys.path[0], 'go').exists():
        time.sleep(0.01)
    signal.signal(signal.SIGTERM, before)
    print('saved' if stopped else 'through')

def main(overrides):
    print(os.getpid(), flush=True)
    exec(DO.value, globals())
"""
WAITS = 'wait()'


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setenv('SLURM_JOB_ID', '7')
    (tmp_path / 'launcher.py').write_text(LAUNCHER)
    return Lab(tmp_path)


@pytest.fixture
def heard():
    """Answer a signal until the test ends."""
    before = {}

    def hear(number, handler):
        before[number] = signal.signal(number, handler)

    yield hear
    for number, handler in before.items():
        signal.signal(number, handler)


class Lab:
    """Runs of the launcher above, and what they leave in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, name, do=''):
        return Job(name, (sys.executable, str(self.folder / 'launcher.py'), f'--do={do}'), self.log(name), 'P')

    def training(self, *runs, offer_after=math.inf):
        return SlurmTraining(runs, self.folder, offer_after)

    def log(self, name):
        return self.folder / f'{name}.log'

    def printed(self, name):
        """What a run printed in each of its beginnings, each time its process first."""
        begun = self.log(name).read_text().split('--- ')[1:]
        return [text.splitlines()[1:] for text in begun]

    def await_up(self, name):
        """Wait until a run waits."""
        until(lambda: self.log(name).exists() and '\nup\n' in self.log(name).read_text())

    def state(self, name):
        return self.folder / '7' / name

    def states(self):
        return {file.name: file.read_text().strip() for file in (self.folder / '7').iterdir()}


def alone(folder, code):
    """A run of Python in a process of its own."""
    return Job('a', (sys.executable, '-c', code), folder / 'printed.log')


@contextmanager
def meanwhile(act):
    """Do something in another thread, to its end."""
    thread = threading.Thread(target=act)
    thread.start()
    yield
    thread.join()


def signal_here(number):
    signal.pthread_kill(threading.main_thread().ident, number)


class TestOneRun:
    def test_it_prints_into_the_log_of_its_run(self, lab, tmp_path):
        run = alone(tmp_path, 'print("here")')
        run.log.write_text('before\n')
        lab.training(run)()
        before, command, here = run.log.read_text().splitlines()
        assert (before, here) == ('before', 'here')
        assert command.startswith('--- ')
        assert lab.states() == {'a': '0'}

    def test_tasks_next_to_others_join_them_and_print_apart(self, lab, tmp_path, monkeypatch):
        monkeypatch.setenv('SLURM_NTASKS', '2')
        run = alone(tmp_path, 'import sys; print(sys.argv[1:])')
        for task in '10':
            assert not lab.state('a').exists()
            monkeypatch.setenv('SLURM_PROCID', task)
            lab.training(run, lab.run('b'))()
        for name in ('printed.log', 'printed.1.log'):
            assert (tmp_path / name).read_text().splitlines()[1:] == ["['--distributed']"]
        assert lab.states() == {'a': '0 once gone'}  # others may still be at work; b is left to the engine

    def test_a_training_that_fails_fails_its_job(self, lab, tmp_path):
        with pytest.raises(RuntimeError, match='status 3'):
            lab.training(alone(tmp_path, 'raise SystemExit(3)'))()
        assert lab.states() == {'a': '3'}


@pytest.mark.long
class TestSeveralRuns:
    def test_they_share_a_process_and_have_logs_of_their_own(self, lab):
        lab.training(*map(lab.run, 'abc'))()
        (first,), (second,), (third,) = map(lab.printed, 'abc')
        assert first == second == third
        assert len(first) == 1
        assert lab.states() == {'a': '0', 'b': '0', 'c': '0'}

    @pytest.mark.parametrize(
        ('does', 'status'), [('sys.exit(3)', 3), ('os.kill(os.getpid(), signal.SIGKILL)', -signal.SIGKILL)]
    )
    def test_one_that_fails_costs_that_run_only(self, lab, does, status):
        with pytest.raises(RuntimeError, match=rf'status {status}; .*b\.log$'):
            lab.training(lab.run('a'), lab.run('b', does), lab.run('c'))()
        assert lab.states() == {'a': '0', 'b': str(status), 'c': '0'}
        (first,), (failed,), (after,) = map(lab.printed, 'abc')
        assert first == failed != after

    def test_told_to_make_room_it_goes_on_later_with_what_has_not_ended(self, lab, heard):
        training, again = lab.training(lab.run('a'), lab.run('b', WAITS), lab.run('c')), []

        def checkpoint(*_):
            again.append(training.checkpoint())
            raise SystemExit(-1)  # as submitit does

        def make_room():
            lab.await_up('b')
            signal_here(signal.SIGUSR2)

        heard(signal.SIGUSR2, checkpoint)
        with meanwhile(make_room), pytest.raises(SystemExit):
            training()
        assert lab.states() == {'a': '0', 'b': 'begun'}
        assert [lines[1:] for lines in lab.printed('b')] == [['up', 'saved']]
        (delayed,) = again
        assert delayed.function == training
        (lab.folder / 'go').touch()
        pickle.loads(pickle.dumps(delayed.function))()
        assert lab.states() == {'a': '0', 'b': '0', 'c': '0'}
        assert [lines[1:] for lines in lab.printed('b')] == [['up', 'saved'], ['up', 'through']]
        assert [len(lab.printed(name)) for name in 'ac'] == [1, 1]
        assert lab.printed('b')[1][0] == lab.printed('c')[0][0]

    def test_cancelled_it_begins_no_other_but_would_if_it_came_back(self, lab):
        training = lab.training(lab.run('a', WAITS), lab.run('b'))

        def cancel():
            lab.await_up('a')
            training._worker.process.send_signal(signal.SIGTERM)  # Slurm signals every process of a job
            signal_here(signal.SIGTERM)

        with meanwhile(cancel), pytest.raises(RuntimeError, match='status 143'):
            training()
        assert lab.states() == {'a': '0 once gone', 'b': '143 once gone'}
        (lab.folder / 'go').touch()
        lab.training(lab.run('a', WAITS), lab.run('b'))()
        assert lab.states() == {'a': '0', 'b': '0'}

    def test_after_a_share_of_its_time_it_offers_the_rest_and_does_what_nobody_takes(self, lab):
        def take():
            until(lab.state(OFFERED).exists)
            assert claim(lab.state('b'), 'taken')
            assert not claim(lab.state('a'), 'taken')  # it has begun
            (lab.folder / 'go').touch()

        with meanwhile(take):
            lab.training(lab.run('a', WAITS), lab.run('b'), lab.run('c'), offer_after=0.1)()
        assert lab.states() == {'a': '0', 'b': 'taken', 'c': '0', OFFERED: ''}
        assert not lab.log('b').exists()

    def test_before_that_it_offers_none(self, lab):
        lab.training(lab.run('a', 'time.sleep(0.5)'), lab.run('b'), offer_after=60.0)()
        assert lab.states() == {'a': '0', 'b': '0'}
