# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of a sweep that share a process give what the same commands give in processes of their own, bit for bit."""

import os
import random
import signal
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from conftest import ROOT

from saccade.sweep.record import read_sweep
from saccade.train.log.log import read
from saccade.train.log.provenance import read as starts
from saccade.train.trained import open_run

SWEEP = """
def get_sweep():
    return dict(runs=dict(grid={'schedule.peak': [1e-3, 3e-3]}), seeds=2)
"""
FAILING = """
def get_sweep():
    peaks = {'slow': 1e-3, 'too fast': 1e30, 'quick': 3e-3}
    return dict(runs=dict(list=[{'name': name, 'schedule.peak': peak} for name, peak in peaks.items()]))
"""
# A mixer of the user's own that says, each time it is traced, which run traces it.
MIXER = """
import sys
from pathlib import Path

from saccade.attention.multi_head import MultiHead


class Told(MultiHead):
    def project(self, *arguments, **options):
        with Path(__file__).with_name('traced').open('a') as traced:
            print(next(flag for flag in sys.argv if flag.startswith('--workdir=')), file=traced)
        return super().project(*arguments, **options)
"""
TUNED = """
def get_sweep():
    return dict(runs=dict(list=[{}]), seeds=1, tune=dict(by={'schedule.peak': [1e-3, 3e-3]}, seeds=[7]))
"""
SHORT = ('--config.steps=6', '--config.eval_every=3', '--config.checkpoint_every=2')
TIMES = {'tokens_per_second', 'mfu', 'hfu'}

pytestmark = pytest.mark.long


def arguments(runner, folder, text, *more):
    (folder / 'my_sweep.py').write_text(text)
    return [*runner.small(folder / 'sweep'), *SHORT, f'--sweep={folder / "my_sweep.py"}', '--jobs=1', *more]


def logged(folder):
    """The records of a run, but for what depends on the clock, and its samples."""
    records = [
        {name: value for name, value in line.items() if name not in TIMES} for line in read(folder / 'metrics.jsonl')
    ]
    return records, (folder / 'samples.jsonl').read_text()


def untimed(lines):
    """Lines that were printed, from two streams, but for those that depend on the clock."""
    return sorted(line for line in lines if '...' not in line and 'tokens/s' not in line)


def same_arrays(one, other):
    jax.tree.map(np.testing.assert_array_equal, open_run(str(one)).params, open_run(str(other)).params)


@pytest.fixture(scope='module')
def shared(runner, tmp_path_factory):
    """The folder of a sweep of four runs that one worker carried out."""
    folder = tmp_path_factory.mktemp('shared')
    done = runner.run('sweep', *arguments(runner, folder, SWEEP))
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / 'sweep'


def holder(folder):
    """The process that held the lock of a run last."""
    return (folder / '.lock').read_text()


def test_they_share_a_process(shared):
    assert len({holder(shared / run.name) for run in read_sweep(shared).runs}) == 1


def test_they_are_what_processes_of_their_own_make(runner, shared, tmp_path):
    sweep = read_sweep(shared)
    for run in sweep.runs:
        flags = (f'--config={sweep.config}', f'--workdir={tmp_path / run.name}', *sweep.overrides, *run.overrides)
        done = runner.run('train', *flags)
        assert done.returncode == 0, done.stderr
        mine, own = shared / run.name, tmp_path / run.name
        assert logged(mine) == logged(own)
        same_arrays(mine, own)
        assert (mine / 'config.json').read_bytes() == (own / 'config.json').read_bytes()
        files = [{path.name for path in folder.iterdir()} for folder in (mine, own)]
        assert files[0] - {'printed.log'} == files[1]
        told = (mine / 'printed.log').read_text().splitlines()[1:]  # after the line of the engine
        said = (done.stdout + done.stderr).replace(str(tmp_path), str(shared)).splitlines()
        assert untimed(told) == untimed(said)
        (start,) = starts(mine / 'provenance.jsonl')
        (alone,) = starts(own / 'provenance.jsonl')
        assert start.keys() == alone.keys()
        varied = {'start', 'end', 'command', 'commit', 'clean'}  # of the clock, and of who edits meanwhile
        assert {k: v for k, v in start.items() if k not in varied} == {
            k: v for k, v in alone.items() if k not in varied
        }
        assert start['command'].split()[1:3] == [str(ROOT / 'launch/train.py'), f'--config={sweep.config}']


@pytest.mark.parametrize(('text', 'runs'), [(SWEEP, 4), (TUNED, 3)])
def test_the_first_of_a_program_traces_and_compiles_and_no_other_does(runner, tmp_path, text, runs):
    (tmp_path / 'my_mixer.py').write_text(MIXER)
    own = ('--config.model.block.mixer.use=my_mixer:Told', '--trust=my_mixer')
    logs = replace(runner, folder=tmp_path, environment={**runner.environment, 'JAX_LOG_COMPILES': '1'})
    done = logs.run('sweep', *arguments(runner, tmp_path, text, *own))
    assert done.returncode == 0, done.stdout + done.stderr
    folders = [path.parent for path in tmp_path.rglob('metrics.jsonl')]
    folders.sort(key=lambda folder: starts(folder / 'provenance.jsonl')[0]['start'])
    assert len(folders) == runs
    assert len({holder(folder) for folder in folders}) == 1
    traced = (tmp_path / 'traced').read_text().splitlines()
    assert [f'--workdir={folder}' in traced for folder in folders] == [True] + [False] * (runs - 1)
    compiled = ['Compiling ' in (folder / 'printed.log').read_text() for folder in folders]
    assert compiled == [True] + [False] * (runs - 1)


def test_a_run_that_diverges_costs_that_run_alone(runner, tmp_path):
    done = runner.run('sweep', *arguments(runner, tmp_path, FAILING, '--config.optimizer.clip_norm=None'))
    assert done.returncode == 1, done.stdout + done.stderr
    runs = read_sweep(tmp_path / 'sweep').runs
    assert [(run.variant, run.status, run.exit) for run in runs] == [
        ('slow', 'finished', 0), ('too-fast', 'failed', 2), ('quick', 'finished', 0)
    ]  # fmt: skip
    assert 'is not finite' in runs[1].last_lines[-1]
    slow, too_fast, quick = (holder(tmp_path / 'sweep' / run.name) for run in runs)
    assert slow == too_fast != quick


def test_ten_kills_of_a_worker_lose_nothing_but_the_run_in_hand(runner, shared, tmp_path):
    """The same command finishes the sweep, with the logs of one that was left in peace."""
    draw = random.Random(int(os.environ.get('SACCADE_SEED', '0')))
    kills, killed, status = 10, 0, None
    while status != 0:
        process = runner.start('sweep', *arguments(runner, tmp_path, SWEEP))
        while process.poll() is None:
            wait = time.monotonic() + draw.uniform(2, 12)
            while process.poll() is None and time.monotonic() < wait:
                time.sleep(0.02)
            for worker in workers_of(process.pid)[:kills]:
                os.kill(worker, signal.SIGKILL)
                kills -= 1
        out, err = process.communicate()
        status, runs = process.returncode, read_sweep(tmp_path / 'sweep').runs
        assert {(run.status, run.exit) for run in runs} <= {('finished', 0), ('failed', -signal.SIGKILL)}, out + err
        killed += sum(run.status == 'failed' for run in runs)
    assert killed <= 10 - kills
    for run in read_sweep(shared).runs:
        assert losses(tmp_path / 'sweep' / run.name) == losses(shared / run.name)
        same_arrays(tmp_path / 'sweep' / run.name, shared / run.name)


def losses(folder):
    return [((line['step'], line['split']), line.get('loss')) for line in read(folder / 'metrics.jsonl')]


def workers_of(launch):
    """The worker of a launch that is at work, in a list."""
    found = []
    with suppress(OSError):  # it has ended
        for child in Path(f'/proc/{launch}/task/{launch}/children').read_text().split():
            if b'saccade.sweep.worker' in Path(f'/proc/{child}/cmdline').read_bytes():
                found.append(int(child))
    return found
