# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training after a fault of its folder, its disk or its log: one line, nothing lost, and the same losses in the end."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from watched import losses, wait_for_step

from saccade.train.log.log import read
from saccade.train.process.lock import locked

STUCK = """
import time

class Stuck:
    def open(self, folder, config, start):
        time.sleep(3600)

    def write(self, step, split, metrics):
        pass

    def sample(self, step, text):
        pass

    def close(self):
        pass
"""
# Bytes that are left on the disk when a run starts: it fills in the first step, in later ones and in saves.
ROOM = (0, 100_000, 500_000, 900_000, 1_300_000, 4_000_000)


@pytest.fixture
def run(finished, tmp_path) -> Path:
    """A copy of the finished run."""
    shutil.copytree(finished, tmp_path / 'run')
    return tmp_path / 'run'


def refusal(done: subprocess.CompletedProcess) -> str:
    """The one line that a launcher ended with."""
    assert done.returncode == 2, done.stderr
    assert 'Traceback' not in done.stderr
    line = done.stderr.splitlines()[-1]
    assert line.startswith('error: ')
    return line


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob('*') if path.is_file()}


def lose_checkpoints(run: Path) -> None:
    shutil.rmtree(run / 'checkpoints')


def lose_seals(run: Path) -> None:
    for seal in run.glob('checkpoints/*/saccade.seal'):
        seal.unlink()


@pytest.mark.long
@pytest.mark.parametrize('lose', [lose_seals, lose_checkpoints])
def test_a_run_that_lost_its_checkpoints_keeps_its_log_and_starts_again_when_it_is_told_to(runner, finished, run, lose):
    lose(run)
    before = (run / 'metrics.jsonl').read_bytes()
    for _ in range(2):  # the first time has set the damaged steps aside
        words = 'no checkpoint can be used, though the run had reached step 20: .* with --restart'
        assert re.search(words, refusal(runner.train(run)))
        assert (run / 'metrics.jsonl').read_bytes() == before
    done = runner.train(run, '--restart')
    assert done.returncode == 0, done.stderr
    assert losses(run) == losses(finished)
    assert (run / 'before_restart/1/metrics.jsonl').read_bytes() == before
    assert f"the run's earlier files are in {run}/before_restart/1" in done.stdout


@pytest.mark.long
def test_a_second_process_is_refused_before_it_writes_anything(runner, run):
    with locked(run / '.lock', pytest.fail):
        before = contents(run)
        line = refusal(runner.train(run))
        assert re.fullmatch(
            rf'error: {run}: is being trained by process {os.getpid()} on \S+; wait for it, or stop it', line
        )
        assert contents(run) == before


@pytest.mark.long
def test_a_run_that_is_being_trained_may_be_looked_at(runner, run):
    with locked(run / '.lock', pytest.fail):
        for script, folder in (('evaluate', run), ('generate', run), ('report', run.parent)):
            done = runner.run(script, f'--workdir={folder}')
            assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_of_two_processes_at_once_one_trains(runner, finished, tmp_path):
    both = [runner.start('train', *runner.small(tmp_path / 'run')) for _ in range(2)]
    ends = [(process.communicate(timeout=240), process.returncode) for process in both]
    statuses = sorted(status for _, status in ends)
    if statuses != [0, 0]:  # the second began when the first had ended
        assert statuses == [0, 2]
        assert 'is being trained by process' in next(streams for streams, status in ends if status)[1]
    assert losses(tmp_path / 'run') == losses(finished)


@pytest.mark.long
@pytest.mark.parametrize(('old', 'new'), [('18', '30'), ('20', '19')])
def test_a_renamed_checkpoint_is_not_resumed_from(runner, finished, run, old, new):
    (run / 'checkpoints' / old).rename(run / 'checkpoints' / new)
    done = runner.train(run)
    assert done.returncode == 0, done.stderr
    assert f'checkpoints/{new}: saccade.seal is of step {old}, so the folder was renamed or copied' in done.stderr
    assert (run / 'checkpoints/damaged' / new).is_dir()
    assert losses(run) == losses(finished)


@pytest.mark.long
def test_lines_of_the_log_that_are_gone_are_said(runner, run):
    shutil.rmtree(run / 'checkpoints/20')
    (run / 'metrics.jsonl').write_text('')
    done = runner.train(run)
    assert done.returncode == 0, done.stderr
    assert f'{run}/metrics.jsonl: lines up to step 18 are missing: 0 of 20 are left; training continues' in done.stderr
    assert [line['step'] for line in read(run / 'metrics.jsonl') if line['split'] == 'train'] == [19, 20]


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    command = ['mount', '-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', str(folder)]
    if shutil.which('mount') is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip('a small disk cannot be mounted here')
    try:
        yield folder
    finally:
        subprocess.run(['umount', '-l', str(folder)], check=True)


def fill(folder: Path, room: int = 0) -> None:
    """Leave so many bytes free, while others write too."""
    with suppress(OSError), (folder / 'filling').open('ab', buffering=0) as filling:
        while (free := shutil.disk_usage(folder).free - room) > 0:
            filling.write(bytes(min(free, 4096)))


@pytest.mark.long
def test_a_disk_that_fills_ends_a_run_in_one_line_and_costs_nothing(runner, finished, tmp_path):
    ended = []
    for room in ROOM:
        with small_disk(tmp_path / f'disk{room}') as disk:
            fill(disk, room)
            done = runner.train(disk / 'run')
            ended.append(done.returncode)
            if done.returncode:
                assert ': the disk is full: ' in refusal(done)
            (disk / 'filling').unlink()
            again = runner.train(disk / 'run')
            assert again.returncode == 0, again.stderr
            assert losses(disk / 'run') == losses(finished), room
    assert set(ended) == {0, 2}  # else the sizes say nothing


@pytest.mark.long
@pytest.mark.parametrize('every', [0, 3])
def test_a_disk_that_fills_while_a_run_trains_ends_it(runner, tmp_path, every):
    """Either the log or a checkpoint meets it first."""
    more = ('--config.steps=100000', '--config.eval_every=0', f'--config.checkpoint_every={every}')
    with small_disk(tmp_path / 'disk') as disk:
        process = runner.start('train', *runner.small(disk / 'run'), *more)
        try:
            wait_for_step(process, disk / 'run/metrics.jsonl', 30)
            until = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < until:
                fill(disk)  # again and again: each save makes room by deleting an older one
                time.sleep(0.05)
            out, err = process.communicate(timeout=5)
        finally:
            process.kill()
        assert ': the disk is full: ' in refusal(subprocess.CompletedProcess([], process.returncode, out, err))


@pytest.mark.long
def test_a_sink_that_blocks_does_not_keep_a_run_from_stopping(runner, tmp_path):
    (runner.folder / 'stuck_sink.py').write_text(STUCK)
    more = ('--config.logging=[{"use": "stuck_sink:Stuck"}]', '--config.steps=100000')
    process = runner.start('train', *runner.small(tmp_path / 'run'), *more)
    try:
        wait_for_step(process, tmp_path / 'run/metrics.jsonl', 10)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=150)  # more than the sink has to finish
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert 'stopped by a signal' in out
    assert 'Stuck receives no more of the log, and the run continues without it: it has not finished within 90' in err


@pytest.mark.long
def test_a_run_goes_on_when_nobody_reads_what_it_prints(runner, finished, tmp_path):
    process = runner.start('train', *runner.small(tmp_path / 'run'))
    process.stdout.readline()
    process.stdout.close()
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert 'nothing more is printed' in err
    assert losses(tmp_path / 'run') == losses(finished)


@pytest.mark.long
def test_ctrl_c_before_the_loop_is_one_line(runner, tmp_path):
    config = tmp_path / 'waits.py'
    config.write_text("""
import pathlib, time

def get_config():
    pathlib.Path(__file__).with_name('here').touch()
    time.sleep(600)
""")
    process = runner.start('train', f'--config={config}', f'--workdir={tmp_path / "run"}')
    until = time.monotonic() + 120
    while not (tmp_path / 'here').exists() and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, '', 'stopped by Ctrl-C\n')
