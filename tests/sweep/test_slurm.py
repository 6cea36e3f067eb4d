# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs as Slurm jobs, with commands that only pretend to be Slurm's: what is submitted, found again, and said."""

import json
import pickle
import signal

import pytest

from saccade.sweep import follow as following
from saccade.sweep import slurm
from saccade.sweep.engine import Event, Job
from saccade.sweep.follow import follow
from saccade.sweep.slurm import Slurm, settings_of
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


def job(tmp_path, name='a', program=None):
    return Job(name, ('train', f'--workdir={name}'), tmp_path / 'runs' / name / 'printed.log', program)


def numbers(tmp_path):
    """The number of each run's job."""
    return json.loads((tmp_path / 'runs/.slurm/jobs.json').read_text())


def state(tmp_path, number, name):
    return tmp_path / f'runs/.slurm/{number}/{name}'


def left(tmp_path, number, name, text):
    """Leave the state of a run, as its job does."""
    state(tmp_path, number, name).parent.mkdir(exist_ok=True)
    state(tmp_path, number, name).write_text(f'{text}\n')


def submitted(cluster, tmp_path, *names, **settings):
    """An engine with jobs of one program, of which the queue has the first ten."""
    one = engine(tmp_path, **settings)
    for name in names:
        one.submit(job(tmp_path, name, 'P'))
    in_line(cluster, *(f'7_{number}' for number in range(10)), '7')
    return one


def in_line(cluster, *numbers):
    (cluster / 'queue').write_text('\n'.join(numbers))


def names_of(tmp_path, number):
    """The names of the runs that a job was given, in order."""
    return [name for name, given in numbers(tmp_path).items() if given == number]


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
        assert numbers(tmp_path) == {'a': '7_0', 'b': '7_1'}

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
        in_line(cluster, '7_0', '7_1')
        assert one.poll() == []
        left(tmp_path, '7_0', 'a', 'begun')
        assert one.poll() == [Event('a')]
        left(tmp_path, '7_1', 'b', 'begun')
        assert one.poll() == [Event('b')]
        left(tmp_path, '7_0', 'a', '0 once gone')  # it was sent a signal, and may be in line again
        assert one.poll() == []
        left(tmp_path, '7_1', 'b', '3')
        assert one.poll() == [Event('b', 3)]
        in_line(cluster)
        assert one.poll() == []  # a result may be late
        assert one.poll() == [Event('a', 0)]
        assert one.poll() == []

    @pytest.mark.parametrize('status', ['', 'success', '0\n0', 5000 * '9', '\0', '0 gone', '1e3'])
    def test_a_status_that_is_none_is_a_failure(self, cluster, tmp_path, status):
        one = engine(tmp_path)
        one.submit(job(tmp_path))
        one.poll()
        left(tmp_path, '7', 'a', status)
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
        left(tmp_path, '7', 'a', 0)
        (cluster / 'count').unlink()  # a new cluster: the next has the same number
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
        in_line(cluster, '7')
        one.poll()
        left(tmp_path, '7', 'a', 'begun')
        assert one.poll() == [Event('a')]
        (cluster / 'queue').unlink()
        assert [one.poll() for _ in range(3)] == [[], [], []]

    def test_the_next_launch_finds_the_jobs_that_the_last_one_left(self, cluster, tmp_path):
        said = []
        first = engine(tmp_path, said)
        for name in ('a', 'b'):
            first.submit(job(tmp_path, name))
        in_line(cluster, '7_0', '7_1')
        first.poll()
        assert first.stop() == []
        assert said == ['The jobs continue, and the same command finds them; to end them: scancel 7_0 7_1']
        in_line(cluster, '7_0')  # b was cancelled in between
        second = engine(tmp_path)
        for name in ('a', 'b'):
            second.submit(job(tmp_path, name))
        second.poll()
        assert numbers(tmp_path) == {'a': '7_0', 'b': '8'}

    def test_what_slurm_refuses_is_one_line(self, cluster, tmp_path, capfd):
        (cluster / 'sbatch').write_text(
            '#!/bin/sh\necho "sbatch: error: invalid partition specified: gpuu" >&2\nexit 1\n'
        )
        one = engine(tmp_path, partition='gpuu')
        one.submit(job(tmp_path))
        with pytest.raises(UserError, match=r'^Slurm rejects the job: sbatch: error: invalid partition .*gpuu$'):
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


class TestRunsThatShareAJob:
    @pytest.mark.parametrize(
        ('names', 'settings', 'jobs'),
        [
            ('abcd', {}, ['abcd']),
            ('abcde', {}, ['ace', 'bd']),
            ('abcde', {'runs': 2}, ['ad', 'be', 'c']),
            ('abc', {'runs': 1}, ['a', 'b', 'c']),
            ('abcde', {'array_parallelism': 2}, ['ace', 'bd']),
            ('abcd', {'array_parallelism': 3}, ['ac', 'bd']),
            ('abcd', {'array_parallelism': 9}, ['a', 'b', 'c', 'd']),
            ('abc', {'nodes': 2}, ['a', 'b', 'c']),
            ('abc', {'ntasks_per_node': 2}, ['a', 'b', 'c']),
        ],
    )
    def test_a_job_has_at_most_so_many_and_leaves_work_for_others(self, cluster, tmp_path, names, settings, jobs):
        submitted(cluster, tmp_path, *names, **settings).poll()
        keys = [f'7_{index}' for index in range(len(jobs))] if len(jobs) > 1 else ['7']
        assert [''.join(names_of(tmp_path, key)) for key in keys] == jobs

    def test_programs_and_runs_without_one_have_jobs_of_their_own(self, cluster, tmp_path):
        one = engine(tmp_path)
        for name, program in zip('abcdef', ('P', None, 'Q', 'P', None, 'Q'), strict=True):
            one.submit(job(tmp_path, name, program))
        one.poll()
        assert [''.join(names_of(tmp_path, f'7_{index}')) for index in range(4)] == ['ad', 'b', 'cf', 'e']

    def test_each_begins_and_ends_by_itself(self, cluster, tmp_path):
        one = submitted(cluster, tmp_path, 'a', 'b', 'c')
        assert one.poll() == []
        left(tmp_path, '7', 'a', 'begun')
        assert one.poll() == [Event('a')]
        left(tmp_path, '7', 'a', '3')
        left(tmp_path, '7', 'b', 'begun')
        assert one.poll() == [Event('a', 3), Event('b')]
        left(tmp_path, '7', 'b', '0')
        left(tmp_path, '7', 'c', '0')
        assert one.poll() == [Event('b', 0), Event('c'), Event('c', 0)]

    def test_what_a_job_offers_gets_jobs_of_its_own(self, cluster, tmp_path):
        one = submitted(cluster, tmp_path, 'a', 'b', 'c')
        one.poll()
        left(tmp_path, '7', 'a', 'begun')
        left(tmp_path, '7', '.offered', '')
        assert one.poll() == [Event('a')]
        assert [state(tmp_path, '7', name).read_text() for name in 'bc'] == ['taken', 'taken']
        in_line(cluster, '7', '8_0', '8_1')
        assert one.poll() == []
        assert numbers(tmp_path) == {'a': '7', 'b': '8_0', 'c': '8_1'}
        left(tmp_path, '8_0', 'b', '0')
        assert one.poll() == [Event('b'), Event('b', 0)]

    def test_what_was_taken_and_not_submitted_is_submitted_by_the_next_launch(self, cluster, tmp_path):
        submitted(cluster, tmp_path, 'a', 'b', 'c').poll()
        left(tmp_path, '7', 'a', 'begun')
        left(tmp_path, '7', 'b', 'taken')
        submitted(cluster, tmp_path, 'a', 'b', 'c').poll()
        assert numbers(tmp_path) == {'a': '7', 'b': '8', 'c': '7'}

    def test_no_more_are_taken_than_may_be_at_work(self, cluster, tmp_path):
        one = submitted(cluster, tmp_path, *'abcdef', array_parallelism=2)  # ace and bdf
        one.poll()
        for index in range(2):
            left(tmp_path, f'7_{index}', 'ab'[index], 'begun')
            left(tmp_path, f'7_{index}', '.offered', '')
        assert one.poll() == [Event('a'), Event('b')]
        assert set(numbers(tmp_path).values()) == {'7_0', '7_1'}
        for name in 'bdf':
            left(tmp_path, '7_1', name, '0')
        in_line(cluster, '7_0')
        one.poll()
        in_line(cluster, '7_0', '8')
        one.poll()
        assert numbers(tmp_path)['c'] == '8'
        assert numbers(tmp_path)['e'] == '7_0'

    def test_a_job_that_is_lost_costs_the_run_in_hand(self, cluster, tmp_path):
        one = submitted(cluster, tmp_path, 'a', 'b', 'c')
        one.poll()
        left(tmp_path, '7', 'a', '0')
        left(tmp_path, '7', 'b', 'begun')
        assert one.poll() == [Event('a'), Event('a', 0), Event('b')]
        in_line(cluster)
        assert [*one.poll(), *one.poll()] == [Event('b', 1)]
        in_line(cluster, '8')
        assert one.poll() == []
        assert numbers(tmp_path) == {'a': '7', 'b': '7', 'c': '8'}

    def test_a_job_that_is_cancelled_in_line_fails_its_runs(self, cluster, tmp_path):
        one = submitted(cluster, tmp_path, 'a', 'b')
        one.poll()
        in_line(cluster)
        events = [*one.poll(), *one.poll()]
        assert events == [Event('a'), Event('a', 1), Event('b'), Event('b', 1)]

    def test_a_later_launch_finds_the_job_and_tries_again_what_failed_in_it(self, cluster, tmp_path):
        said = []
        first = engine(tmp_path, said)
        for name in 'abc':
            first.submit(job(tmp_path, name, 'P'))
        first.poll()
        first.stop()
        assert said == ['The jobs continue, and the same command finds them; to end them: scancel 7']
        left(tmp_path, '7', 'a', '3')
        left(tmp_path, '7', 'b', 'begun')
        second = submitted(cluster, tmp_path, 'a', 'b', 'c')
        in_line(cluster, '7', '8')
        assert second.poll() == [Event('b')]
        assert numbers(tmp_path) == {'a': '8', 'b': '7', 'c': '7'}


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
            (('time=5', 'runs=0'), '--slurm=runs=0: .* positive whole number'),
            (('time=5', 'runs=all'), '--slurm=runs=all: .* positive whole number'),
        ],
    )
    def test_what_is_wrong_or_missing_is_said(self, flags, words):
        with pytest.raises(UserError, match=words):
            settings_of(flags)


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
                left(tmp_path, '7', 'a', 0)

        assert follow(one, given, show) == 0
        assert 'step 1\n' in shown
        assert 'of an earlier launch' not in ''.join(shown)

    def test_told_to_stop_it_leaves_the_job(self, cluster, tmp_path):
        said = []
        in_line(cluster, '7')
        one = engine(tmp_path, said)
        assert follow(one, job(tmp_path), lambda text: signal.raise_signal(signal.SIGINT)) is None
        assert said == ['The jobs continue, and the same command finds them; to end them: scancel 7']
