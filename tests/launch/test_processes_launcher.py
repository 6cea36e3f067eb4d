# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Several processes as one run, from the command line: the same losses, one end for all, and what is said of a loss."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from watched import assert_same, losses, wait_for_step

WITHIN = 60  # seconds in which a run must end when one of its processes has


@contextmanager
def started(runner, workdir: Path, count: int, *overrides: str) -> Iterator[list[subprocess.Popen]]:
    """The small run in so many processes, none of which outlives the block."""
    flags = [*runner.small(workdir), *overrides, f'--coordinator=127.0.0.1:{free_port()}', f'--processes={count}']
    processes = [runner.start('train', *flags, f'--process={number}') for number in range(count)]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()


def ends(processes: Sequence[subprocess.Popen]) -> list[tuple[int, str, str]]:
    """The status of each process, and what it printed and complained of."""
    printed = [process.communicate(timeout=240) for process in processes]
    return [(process.returncode, *texts) for process, texts in zip(processes, printed, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize('count', [2, 4])
def test_several_processes_give_the_losses_of_one(runner, finished, tmp_path, count):
    with started(runner, tmp_path / 'run', count) as processes:
        for status, _, complaints in ends(processes):
            assert status == 0, complaints
    assert_same(losses(tmp_path / 'run'), losses(finished))


@pytest.mark.long
@pytest.mark.parametrize('axis', ['tensor', 'sequence'])
def test_processes_that_have_the_same_rows_give_the_losses_of_one(runner, finished, tmp_path, axis):
    with started(runner, tmp_path / 'run', 2, f'--config.mesh.{axis}=2') as processes:
        for status, _, complaints in ends(processes):
            assert status == 0, complaints
    assert_same(losses(tmp_path / 'run'), losses(finished))


@pytest.mark.long
@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGUSR1])
def test_one_process_that_is_told_to_stop_stops_all_after_the_same_step(runner, finished, tmp_path, number):
    with started(runner, tmp_path / 'run', 2) as processes:
        wait_for_step(processes[0], tmp_path / 'run/metrics.jsonl', 3)
        processes[1].send_signal(number)
        (first, said, _), (second, _, _) = ends(processes)
    assert (first, second) == (0, 0)
    assert 'stopped by a signal after step' in said
    alone = runner.train(tmp_path / 'run')
    assert 'resume' in alone.stdout, alone.stderr
    assert_same(losses(tmp_path / 'run'), losses(finished))


@pytest.mark.long
@pytest.mark.parametrize(('victim', 'then'), [(0, 4), (1, 1)])
def test_when_one_process_is_killed_the_others_say_so_and_the_run_resumes(runner, finished, tmp_path, victim, then):
    workdir = tmp_path / 'run'
    with started(runner, workdir, 2) as processes:
        wait_for_step(processes[0], workdir / 'metrics.jsonl', 7)
        processes[victim].kill()
        killed = time.monotonic()
        status, _, complaint = ends(processes)[1 - victim]
    assert time.monotonic() - killed < WITHIN
    assert status in (1, -signal.SIGABRT)
    # JAX may abort the process after it has said this and before it has ended, and then adds lines of its own.
    said = [line for line in complaint.splitlines() if line.startswith('error: ')][-1]
    assert said.startswith((f'error: process {1 - victim} has lost', 'error: this process was killed')), complaint
    assert said.endswith('start all its processes again, and the run goes on from its last checkpoint')
    with started(runner, workdir, then) as processes:
        for status, _, complaints in ends(processes):
            assert status == 0, complaints
    assert_same(losses(workdir), losses(finished))


@pytest.mark.long
def test_a_mistake_ends_all(runner, tmp_path):

    with started(
        runner, tmp_path / 'run', 2, '--config.schedule.peak=1e30', '--config.optimizer.clip_norm=None'
    ) as both:
        found = ends(both)
    assert [status for status, _, _ in found] == [2, 2]
    for _, _, complaint in found:
        assert 'is not finite' in complaint


@pytest.mark.long
def test_without_a_cluster_there_is_nothing_to_join(runner, tmp_path):
    done = runner.train(tmp_path / 'run', '--distributed')
    assert done.returncode == 2
    assert done.stderr.startswith('error: --distributed: no Slurm step')
    assert done.stderr.count('\n') == 1, done.stderr


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]
