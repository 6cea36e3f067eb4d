# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs as Slurm jobs, with commands that only pretend to be Slurm's: what is submitted, found again, and said."""

import json
import pickle
import signal
import sys
import threading

import pytest

from saccade.sweep import follow as following
from saccade.sweep import slurm
from saccade.sweep.engine import Event, Job
from saccade.sweep.follow import follow
from saccade.sweep.slurm import Slurm, Training, settings_of
from saccade.types import UserError

pytest.importorskip('submitit')

SETTINGS = {'time': 10}
# Keeps what it is given, and numbers jobs from 7 on.
SBATCH = """#!/bin/sh
cp "$1" "$(dirname "$0")/submitted"
echo x >> "$(dirname "$0")/count"
echo "Submitted batch job $((6 + $(wc -l < "$(dirname "$0")/count")))"
"""
SQUEUE = '#!/bin/sh\ncat "$(dirname "$0")/queue"\n'


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A folder with commands of Slurm's names; its file `queue` is what is in line."""
    folder = tmp_path / 'bin'
    folder.mkdir()
    for name, text in (('sbatch', SBATCH), ('squeue', SQUEUE), ('srun', '#!/bin/sh\n')):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / 'queue').write_text('')
    monkeypatch.setenv('PATH', f'{folder}:/usr/bin:/bin')
    monkeypatch.setattr(slurm, 'EVERY', 0.0)
    monkeypatch.setattr(following, '_POLL', 0.01)
    return folder


def engine(tmp_path, said=None, **settings):
    return Slurm(tmp_path / 'runs', {**SETTINGS, **settings}, [].append if said is None else said.append)


def job(tmp_path, name='a'):
    return Job(name, ('train', f'--workdir={name}'), tmp_path / 'runs' / name / 'printed.log')


def ended(tmp_path, name, status):
    (tmp_path / f'runs/.slurm/{name}.ended').write_text(f'{status}\n')


class Executed:
    """What opening its pickle would execute."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return type(self.path).touch, (self.path,)


class TestTheEngine:
    def test_jobs_that_wait_together_are_an_array(self, cluster, tmp_path):
        one = engine(tmp_path, partition='gpu', nodes=2, array_parallelism=1)
        for name in ('a', 'b'):
            one.submit(job(tmp_path, name))
        one.poll()
        asked = (cluster / 'submitted').read_text()
        for line in ('array=0-1%1', 'partition=gpu', 'nodes=2', 'time=10', 'job-name=runs', 'signal=USR2@90'):
            assert f'#SBATCH --{line}\n' in asked
        assert json.loads((tmp_path / 'runs/.slurm/jobs.json').read_text()) == {'a': '7_0', 'b': '7_1'}

    @pytest.mark.parametrize('text', ['{"a": ', '{"a": 7}', '{"a": "$(x)"}', '[]', 100_000 * '['])
    def test_damaged_numbers_of_jobs_are_named(self, cluster, tmp_path, text):
        one = engine(tmp_path)
        one.submit(job(tmp_path))
        one.poll()
        (tmp_path / 'runs/.slurm/jobs.json').write_text(text)
        with pytest.raises(UserError, match=r'jobs\.json is damaged .* delete the file'):
            engine(tmp_path)

    def test_a_job_begins_when_it_is_at_work_and_ends_when_it_is_gone(self, cluster, tmp_path):
        one = engine(tmp_path)
        for name in ('a', 'b'):
            one.submit(job(tmp_path, name))
        (cluster / 'queue').write_text('7_0 RUNNING\n7_1 PENDING\n')
        assert one.poll() == [Event('a')]
        (cluster / 'queue').write_text('7_0 PENDING\n7_1 RUNNING\n')  # a made room and is in line again
        assert one.poll() == [Event('b')]
        ended(tmp_path, 'a', 0)
        ended(tmp_path, 'b', 3)
        (cluster / 'queue').write_text('')
        assert one.poll() == []  # a result may be late
        assert one.poll() == [Event('a', 0), Event('b', 3)]
        assert one.poll() == []

    @pytest.mark.parametrize('status', ['', 'success', '0\n0', 5000 * '9', '\0'])
    def test_a_status_that_is_none_is_a_failure(self, cluster, tmp_path, status):
        one = engine(tmp_path)
        one.submit(job(tmp_path))
        one.poll()
        ended(tmp_path, 'a', status)
        assert one.poll()[-1] == Event('a', 1)

    def test_the_pickled_result_of_a_job_is_not_opened(self, cluster, tmp_path):
        one = engine(tmp_path)
        one.submit(job(tmp_path))
        one.poll()
        hostile = pickle.dumps(('success', Executed(tmp_path / 'sentinel')))
        (tmp_path / 'runs/.slurm/7_0_result.pkl').write_bytes(hostile)
        assert one.poll()[-1] == Event('a', 1)
        assert not (tmp_path / 'sentinel').exists()

    def test_the_status_of_an_earlier_job_is_not_taken_for_that_of_the_next(self, cluster, tmp_path):
        ended_before = engine(tmp_path)
        ended_before.submit(job(tmp_path))
        ended_before.poll()
        ended(tmp_path, 'a', 0)
        again = engine(tmp_path)
        again.submit(job(tmp_path))
        assert [*again.poll(), *again.poll()] == [Event('a'), Event('a', 1)]

    def test_a_job_that_was_over_between_two_looks_began_too(self, cluster, tmp_path):
        one = engine(tmp_path)
        one.submit(job(tmp_path))
        assert [*one.poll(), *one.poll()] == [Event('a'), Event('a', 1)]  # cancelled: there is no result

    def test_a_queue_that_cannot_be_seen_ends_no_job(self, cluster, tmp_path):
        one = engine(tmp_path)
        one.submit(job(tmp_path))
        (cluster / 'queue').write_text('7 RUNNING\n')
        assert one.poll() == [Event('a')]
        (cluster / 'queue').unlink()
        assert [one.poll() for _ in range(3)] == [[], [], []]

    def test_the_next_launch_finds_the_jobs_that_the_last_one_left(self, cluster, tmp_path):
        said = []
        first = engine(tmp_path, said)
        for name in ('a', 'b'):
            first.submit(job(tmp_path, name))
        (cluster / 'queue').write_text('7_0 RUNNING\n7_1 PENDING\n')
        first.poll()
        assert first.stop() == []
        assert said == ['The jobs go on, and the same command finds them; to end them: scancel 7_0 7_1']
        (cluster / 'queue').write_text('7_0 RUNNING\n')  # b was cancelled in between
        second = engine(tmp_path)
        for name in ('a', 'b'):
            second.submit(job(tmp_path, name))
        second.poll()
        assert json.loads((tmp_path / 'runs/.slurm/jobs.json').read_text()) == {'a': '7_0', 'b': '8'}

    def test_what_slurm_refuses_is_one_line(self, cluster, tmp_path, capfd):
        (cluster / 'sbatch').write_text(
            '#!/bin/sh\necho "sbatch: error: invalid partition specified: gpuu" >&2\nexit 1\n'
        )
        one = engine(tmp_path, partition='gpuu')
        one.submit(job(tmp_path))
        with pytest.raises(UserError, match=r'^Slurm takes no such job: sbatch: error: invalid partition .*gpuu$'):
            one.poll()
        assert capfd.readouterr().err == ''
        assert not (tmp_path / 'runs/.slurm/jobs.json').exists()

    def test_a_cluster_that_does_not_answer_is_one_line(self, cluster, tmp_path):
        (cluster / 'queue').unlink()
        one = engine(tmp_path)
        one.submit(job(tmp_path))
        with pytest.raises(UserError, match='Slurm does not answer'):
            one.poll()

    def test_where_there_is_no_slurm_it_says_so(self, cluster, tmp_path, monkeypatch):
        (cluster / 'sbatch').unlink()
        monkeypatch.setenv('PATH', str(cluster))
        with pytest.raises(UserError, match='sbatch is not found'):
            engine(tmp_path)

    def test_a_setting_that_is_unknown_is_refused_with_the_nearest(self, cluster, tmp_path):
        with pytest.raises(UserError, match=r"^--slurm=partitoin: .* did you mean 'partition'\?$"):
            engine(tmp_path, partitoin='gpu')


class TestSettings:
    def test_they_are_numbers_where_they_read_as_such(self):
        flags = ('time=30', 'partition=gpu', "setup=['module load cuda']")
        wanted = {'time': 30, 'partition': 'gpu', 'setup': ['module load cuda']}
        assert settings_of(flags) == wanted
        assert settings_of(flags, at_a_time=4) == {**wanted, 'array_parallelism': 4}

    @pytest.mark.parametrize(
        ('flags', 'words'),
        [
            (('time',), 'write KEY=VALUE'),
            ((), '--slurm=time=MINUTES'),
            (('time=soon',), '--slurm=time=MINUTES'),
        ],
    )
    def test_what_is_wrong_or_missing_is_said(self, flags, words):
        with pytest.raises(UserError, match=words):
            settings_of(flags)


class TestTraining:
    """What a job does on the host it is given."""

    def test_it_prints_into_the_log_of_its_run(self, tmp_path):
        log = tmp_path / 'printed.log'
        log.write_text('before\n')
        Training((sys.executable, '-c', 'print("here")'), log, tmp_path / 'ended')()
        assert log.read_text() == 'before\nhere\n'
        assert (tmp_path / 'ended').read_text() == '0\n'

    def test_tasks_beside_others_join_them_and_print_apart(self, tmp_path, monkeypatch):
        monkeypatch.setenv('SLURM_NTASKS', '2')
        for task in '01':
            monkeypatch.setenv('SLURM_PROCID', task)
            command = (sys.executable, '-c', 'import sys; print(sys.argv[1:])')
            Training(command, tmp_path / 'printed.log', tmp_path / f'ended {task}')()
        for name in ('printed.log', 'printed.1.log'):
            assert (tmp_path / name).read_text() == "['--distributed']\n"
        assert [(tmp_path / f'ended {task}').exists() for task in '01'] == [True, False]

    def test_a_training_that_fails_fails_its_job(self, tmp_path):
        with pytest.raises(RuntimeError, match='status 3'):
            Training((sys.executable, '-c', 'raise SystemExit(3)'), tmp_path / 'printed.log', tmp_path / 'ended')()
        assert (tmp_path / 'ended').read_text() == '3\n'

    def test_told_to_make_room_it_saves_and_is_to_be_done_again(self, tmp_path):
        saves = (
            'import signal, sys, time\n'
            'signal.signal(signal.SIGTERM, lambda *_: (print("saved", flush=True), sys.exit(0)))\n'
            'print("up", flush=True); time.sleep(60)'
        )
        training, again = Training((sys.executable, '-c', saves), tmp_path / 'printed.log', tmp_path / 'ended'), []

        def signalled(*_):
            while 'up' not in (tmp_path / 'printed.log').read_text():
                pass
            again.append(training.checkpoint())

        before = signal.signal(signal.SIGUSR2, signalled)
        try:
            threading.Timer(0.2, signal.pthread_kill, [threading.main_thread().ident, signal.SIGUSR2]).start()
            training()
        finally:
            signal.signal(signal.SIGUSR2, before)
        assert (tmp_path / 'printed.log').read_text() == 'up\nsaved\n'
        (delayed,) = again
        assert delayed.function == training
        assert pickle.loads(pickle.dumps(delayed.function)) == training


class TestFollowing:
    def test_what_a_job_prints_is_shown_and_its_status_returned(self, cluster, tmp_path):
        one, given, shown = engine(tmp_path), job(tmp_path), []
        given.log.parent.mkdir(parents=True)
        given.log.write_text('of an earlier launch\n')

        def show(text):
            shown.append(text)
            if text == '':
                with given.log.open('a') as log:
                    log.write('step 1\n')
                ended(tmp_path, 'a', 0)

        assert follow(one, given, show) == 0
        assert 'step 1\n' in shown
        assert 'of an earlier launch' not in ''.join(shown)

    def test_told_to_stop_it_leaves_the_job(self, cluster, tmp_path):
        said = []
        (cluster / 'queue').write_text('7 RUNNING\n')
        one = engine(tmp_path, said)
        assert follow(one, job(tmp_path), lambda text: signal.raise_signal(signal.SIGINT)) is None
        assert said == ['The jobs go on, and the same command finds them; to end them: scancel 7']
