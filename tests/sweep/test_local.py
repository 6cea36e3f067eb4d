# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Local processes: how a machine is shared out, and how jobs are begun, bound, watched and stopped."""

import os
import signal
import sys
from pathlib import Path

import pytest
from pretended import until

from saccade.sweep import local
from saccade.sweep.engine import Event, Job
from saccade.sweep.local import NO_START, Local, MachineShare, Worker, shared, shares
from saccade.types import UserError

CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else list(range(os.cpu_count()))
WAITS = """
import pathlib, time
pathlib.Path(sys.argv[1], sys.argv[2]).touch()
while not pathlib.Path(sys.argv[1], 'go-' + sys.argv[2]).exists(): time.sleep(0.01)
"""
SAVES = """
import pathlib, signal, time
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
pathlib.Path(sys.argv[1], 'ready').touch()
while not stopped: time.sleep(0.01)
time.sleep(0.2)
pathlib.Path(sys.argv[1], 'saved').touch()
"""


@pytest.fixture
def engine(tmp_path):
    """Make an engine of so many shares, or of those given; what is still at work at the end is killed."""
    workers = []

    def make(*shares):
        workers.extend(map(Worker, shares))
        return Local(workers[-len(shares) :], lock_of(tmp_path))

    yield make
    for worker in workers:
        if worker.job:
            worker.process.kill()
        worker.end()


def lock_of(folder):
    return os.open(folder / 'lock', os.O_CREAT | os.O_RDWR)


def job(folder, name, program='', *arguments):
    """A job of this name that runs a program of Python."""
    return Job(name, (sys.executable, '-S', '-c', f'import os, sys\n{program}', *map(str, arguments)), folder / name)


def events(engine):
    """Poll until something has happened."""
    return until(engine.poll)


def carried_out(engine, job):
    """Carry out one job and return its exit status."""
    engine.submit(job)
    found = []
    until(lambda: found.extend(engine.poll()) or len(found) == 2)
    assert found[0] == Event(job.name)
    return found[1].exit


class TestShares:
    @pytest.fixture(autouse=True)
    def no_gpu(self, monkeypatch):
        monkeypatch.setenv('JAX_PLATFORMS', 'cpu')
        monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
        monkeypatch.setattr(local, '_cores', lambda: [0, 1, 2, 5, 6])
        monkeypatch.setattr(local, '_runs_in_memory', lambda: 8)

    @pytest.mark.parametrize('jobs', [1, 2, 3, 5])
    def test_cores_are_shared_equally_and_by_nobody_else(self, jobs):
        cores = [share.cores for share in shares(jobs)]
        assert [len(share) for share in cores] == jobs * [5 // jobs]
        assert len(frozenset().union(*cores)) == sum(map(len, cores))
        assert frozenset().union(*cores) <= {0, 1, 2, 5, 6}

    def test_one_job_has_them_all(self):
        assert shares(1) == [MachineShare(frozenset({0, 1, 2, 5, 6}))]

    @pytest.mark.parametrize(('runs', 'cores'), [(8, 1), (5, 1), (4, 2), (2, 3), (1, 5)])
    def test_without_a_number_there_are_as_many_as_cores_within_the_memory(self, monkeypatch, runs, cores):
        monkeypatch.setattr(local, '_runs_in_memory', lambda: runs)
        found = shares()
        assert len(found) == 5 // cores
        assert {len(share.cores) for share in found} == {cores}

    @pytest.mark.parametrize(
        ('jobs', 'before', 'cores', 'said'),
        [
            (None, 2, [2, 2], '2 in parallel, 2 cores each'),
            (None, 3, [3], '1 in parallel, 3 cores each'),
            (None, 8, [5], '1 in parallel, 5 cores each; earlier runs had 8, which changes the last bits of sums'),
            (5, 2, 5 * [1], '5 in parallel, a core each; earlier runs had 2, which changes the last bits of sums'),
            (2, None, [2, 2], '2 in parallel, 2 cores each'),
        ],
    )
    def test_runs_that_go_on_keep_their_number_of_cores(self, jobs, before, cores, said):
        found = shares(jobs, before)
        assert [len(share.cores) for share in found] == cores
        assert len(frozenset().union(*(share.cores for share in found))) == sum(cores)
        assert shared(found, before) == f'jobs        {said}'

    @pytest.mark.parametrize('jobs', [0, -1, 6])
    def test_more_jobs_than_cores_or_none_are_refused(self, jobs):
        with pytest.raises(UserError, match=f'^--jobs={jobs}: must be between 1 and 5, one core per job$'):
            shares(jobs)

    def test_each_gpu_that_is_visible_is_a_share(self, monkeypatch):
        monkeypatch.delenv('JAX_PLATFORMS')
        monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '3, GPU-abc,-1')
        assert [(share.cores, share.environment) for share in shares()] == [
            (frozenset(), {'CUDA_VISIBLE_DEVICES': '3'}),
            (frozenset(), {'CUDA_VISIBLE_DEVICES': 'GPU-abc'}),
        ]
        assert shares(1) == shares()[:1]
        assert shared(shares(), None) == shared(shares(), 2) == 'jobs        2 in parallel, a GPU each'
        with pytest.raises(UserError, match=r'^--jobs=3: must be between 1 and 2, one GPU per job$'):
            shares(3)

    def test_gpus_are_counted_by_nvidias_own_tool(self, monkeypatch, tmp_path):
        tool(monkeypatch, tmp_path, 'echo "GPU 0: H200 (UUID: GPU-1)"\necho "GPU 1: H200 (UUID: GPU-2)"')
        assert [share.environment['CUDA_VISIBLE_DEVICES'] for share in shares()] == ['0', '1']

    @pytest.mark.parametrize('script', ['echo no devices were found >&2; exit 6', 'exit 0', None])
    def test_without_a_gpu_cores_are_shared(self, monkeypatch, tmp_path, script):
        tool(monkeypatch, tmp_path, script)
        assert shares(5) == [MachineShare(frozenset({core})) for core in (0, 1, 2, 5, 6)]

    @pytest.mark.parametrize(('name', 'value'), [('JAX_PLATFORMS', 'cpu'), ('CUDA_VISIBLE_DEVICES', '')])
    def test_a_gpu_that_is_not_to_be_used_is_none(self, monkeypatch, tmp_path, name, value):
        tool(monkeypatch, tmp_path, 'echo "GPU 0: H200"')
        monkeypatch.setenv(name, value)
        assert shares(1) == [MachineShare(frozenset({0, 1, 2, 5, 6}))]


def tool(monkeypatch, folder, script):
    """Make a program of nvidia-smi's name the only one on the path, or leave the path empty."""
    monkeypatch.delenv('JAX_PLATFORMS')
    monkeypatch.setenv('PATH', str(folder))
    if script is not None:
        file = folder / 'nvidia-smi'
        file.write_text(f'#!/bin/sh\n[ "$1" = --list-gpus ] || exit 1\n{script}\n')
        file.chmod(0o755)


def test_the_cores_of_this_machine_are_those_it_may_use(monkeypatch):
    monkeypatch.setenv('JAX_PLATFORMS', 'cpu')
    assert shares(1)[0].cores == frozenset(CORES)


def test_jobs_begin_in_line_never_more_at_work_than_shares(engine, tmp_path):
    both = engine(MachineShare(), MachineShare())
    for name in 'abcd':
        both.submit(job(tmp_path, f'log-{name}', WAITS, tmp_path, name))
    assert both.poll() == [Event('log-a'), Event('log-b')]
    until(lambda: (tmp_path / 'a').exists() and (tmp_path / 'b').exists())
    assert both.poll() == []
    (tmp_path / 'go-b').touch()
    assert events(both) == [Event('log-b', 0), Event('log-c')]
    until((tmp_path / 'c').exists)
    assert not (tmp_path / 'd').exists()
    for name in 'acd':
        (tmp_path / f'go-{name}').touch()
    rest = []
    until(lambda: rest.extend(both.poll()) or len(rest) == 4)
    assert sorted(event.name for event in rest if event.exit == 0) == ['log-a', 'log-c', 'log-d']
    assert both.poll() == []


@pytest.mark.skipif(not hasattr(os, 'sched_getaffinity'), reason='the system binds no process to cores')
def test_a_job_is_bound_to_its_share_and_nobody_else_is(engine, tmp_path):
    one, before = engine(MachineShare(frozenset(CORES[-1:]))), os.sched_getaffinity(0)
    assert carried_out(one, job(tmp_path, 'log', 'print(os.sched_getaffinity(0))')) == 0
    assert (tmp_path / 'log').read_text().splitlines()[-1] == str({CORES[-1]})
    assert os.sched_getaffinity(0) == before


def test_a_job_has_the_environment_of_its_share_and_the_rest_of_ours(engine, tmp_path, monkeypatch):
    monkeypatch.setenv('MINE', 'here')
    one = engine(MachineShare(environment={'CUDA_VISIBLE_DEVICES': '7'}))
    print_them = 'print(os.environ["CUDA_VISIBLE_DEVICES"], os.environ["MINE"])'
    assert carried_out(one, job(tmp_path, 'log', print_them)) == 0
    assert (tmp_path / 'log').read_text().splitlines()[-1] == '7 here'


def test_a_job_keeps_the_lock_open_hears_no_terminal_and_no_key(engine, tmp_path):
    one = engine(MachineShare())
    program = f'print(os.fstat({one.lock}).st_ino, repr(sys.stdin.read()), os.getsid(0) == os.getpid())'
    assert carried_out(one, job(tmp_path, 'log', program)) == 0
    inode = (tmp_path / 'lock').stat().st_ino
    assert (tmp_path / 'log').read_text().splitlines()[-1] == f"{inode} '' True"


def test_a_log_is_added_to_and_says_what_was_run(engine, tmp_path):
    one, said = (
        engine(MachineShare()),
        job(tmp_path, 'log', 'print(sys.argv[1], flush=True); print("oh", file=sys.stderr)', 'two words'),
    )
    for _ in range(2):
        assert carried_out(one, said) == 0
    lines = (tmp_path / 'log').read_text().splitlines()
    assert [line for line in lines if line in ('two words', 'oh')] == 2 * ['two words', 'oh']
    assert sum(line.startswith('--- ') for line in lines) == 2
    assert sum(line.endswith(" 'two words'") for line in lines) == 2


@pytest.mark.parametrize(
    ('program', 'status'),
    [('', 0), ('sys.exit(3)', 3), ('raise ValueError', 1), ('os.kill(os.getpid(), 9)', -9)],
)
def test_a_job_ends_with_its_own_status(engine, tmp_path, program, status):
    assert carried_out(engine(MachineShare()), job(tmp_path, 'log', program)) == status


@pytest.mark.parametrize('made', [False, True])
def test_a_command_that_cannot_be_started_is_a_job_that_fails(engine, tmp_path, made):
    program, one = tmp_path / 'no-program', engine(MachineShare())
    if made:
        program.write_text('not one that may be run')
    assert carried_out(one, Job('a', (str(program),), tmp_path / 'a.log')) == NO_START
    assert str(program) in (tmp_path / 'a.log').read_text().splitlines()[-1]
    assert carried_out(one, job(tmp_path, 'log')) == 0  # the share is free again


def test_a_log_that_cannot_be_written_is_the_users_to_mend(engine, tmp_path):
    (tmp_path / 'file').touch()
    one = engine(MachineShare())
    one.submit(job(tmp_path / 'file', 'log'))
    with pytest.raises(UserError, match='cannot be written to'):
        one.poll()


def test_stop_lets_those_at_work_save_and_begins_no_more(engine, tmp_path):
    one = engine(MachineShare(), MachineShare())
    one.submit(job(tmp_path, 'saves', SAVES, tmp_path))
    one.submit(job(tmp_path, 'dies', WAITS, tmp_path, 'dying'))
    one.submit(job(tmp_path, 'never', WAITS, tmp_path, 'begun'))
    one.poll()
    until(lambda: (tmp_path / 'ready').exists() and (tmp_path / 'dying').exists())
    assert sorted(one.stop(), key=lambda event: event.name) == [Event('dies', -signal.SIGTERM), Event('saves', 0)]
    assert (tmp_path / 'saved').exists()
    assert [one.poll(), one.stop()] == [[], []]
    assert not (tmp_path / 'begun').exists()


IGNORES = """
import pathlib, signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])
pathlib.Path(sys.argv[1], 'child').write_text(str(child.pid))
pathlib.Path(sys.argv[1], 'ready').touch()
time.sleep(600)
"""


def test_what_does_not_end_in_time_is_killed_with_what_it_has_started(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(local, 'STOP_SECONDS', 0.2)
    one = engine(MachineShare())
    one.submit(job(tmp_path, 'log', IGNORES, tmp_path))
    one.poll()
    until((tmp_path / 'ready').exists)
    assert one.stop() == [Event('log', -signal.SIGKILL)]
    child = int((tmp_path / 'child').read_text())
    until(lambda: not alive(child))


def alive(pid):
    """Whether a process is at work; one that has ended may wait for somebody to ask."""
    status = Path(f'/proc/{pid}/status')
    return status.exists() and 'State:\tZ' not in status.read_text()


def test_an_engine_that_is_left_stops_what_is_at_work(tmp_path):
    with Local([Worker(MachineShare())], lock_of(tmp_path)) as one:
        one.submit(job(tmp_path, 'saves', SAVES, tmp_path))
        one.poll()
        until((tmp_path / 'ready').exists)
    assert (tmp_path / 'saved').exists()


def test_a_job_that_ended_before_it_was_stopped_ends_as_it_did(engine, tmp_path):
    worker = Worker(MachineShare())
    one = Local([worker], lock_of(tmp_path))
    one.submit(job(tmp_path, 'log', 'sys.exit(4)'))
    one.poll()
    os.waitid(os.P_PID, worker.process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody was told yet
    assert one.stop() == [Event('log', 4)]
