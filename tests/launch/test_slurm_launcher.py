# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training on a Slurm cluster, from the command line: real jobs, on two hosts that this one pretends to be."""

import json
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import slurm_cluster
from refused import assert_refused
from watched import assert_same, losses, wait_for_step

from saccade.sweep.record import read_sweep

pytest.importorskip('submitit')

ROOT = Path(__file__).parents[2]

LONG = (
    '--config.steps=150',
    '--config.eval_every=0',
    '--config.checkpoint_every=1000',
)  # so that a signal comes between
MINUTES = '--slurm=time=10'


@pytest.fixture(scope='module')
def on_slurm(runner, tmp_path_factory):
    """The runner where Slurm's commands find a cluster."""
    if lacking := slurm_cluster.missing():
        pytest.skip(lacking)
    with slurm_cluster.cluster(tmp_path_factory.mktemp('slurm')) as environment:
        yield replace(runner, environment={**runner.environment, **environment})


def number_of(workdir, name):
    return json.loads((workdir / '.slurm/jobs.json').read_text())[name]


def scancel(on_slurm, *arguments):
    subprocess.run(['scancel', *arguments], env={**os.environ, **on_slurm.environment}, check=True)


@pytest.mark.long
def test_a_run_on_two_hosts_that_made_room_ends_with_the_losses_of_one_that_did_not(on_slurm, tmp_path):
    alone = on_slurm.train(tmp_path / 'alone', *LONG)
    assert alone.returncode == 0, alone.stderr
    workdir = tmp_path / 'run'
    process = on_slurm.start('slurm', *on_slurm.small(workdir), *LONG, MINUTES, '--slurm=nodes=2')
    wait_for_step(process, workdir / 'metrics.jsonl', 20)
    scancel(on_slurm, '--signal=USR2', number_of(workdir, 'run'))
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    for words in ('devices     2 x', 'stopped by a signal after step', 'resume      from step', 'step 150/150'):
        assert words in out
    assert 'Requeued job' in (workdir / f'.slurm/{number_of(workdir, "run")}_0_log.out').read_text()
    assert_same(losses(workdir), losses(tmp_path / 'alone'))


@pytest.mark.long
def test_a_sweep_outlives_its_launch_and_the_next_one_finds_its_jobs(on_slurm, tmp_path):
    sweep = tmp_path / 'sweep.py'
    sweep.write_text("def get_sweep():\n    return dict(runs=dict(grid={'schedule.peak': [1e-3, 2e-3]}), seeds=1)\n")
    workdir = tmp_path / 'runs'
    command = (*on_slurm.small(workdir), *LONG, f'--sweep={sweep}', '--engine=slurm', MINUTES, '--jobs=1')
    first = on_slurm.start('sweep', *command)
    wait_for_step(first, workdir / 'peak=0.001,seed=0/metrics.jsonl', 1)
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=60)
    assert first.returncode == 1, err
    assert 'The jobs continue' in out
    numbers = (workdir / '.slurm/jobs.json').read_text()
    second = on_slurm.run('sweep', *command, '--json')
    assert second.returncode == 0, second.stderr
    assert [run['status'] for run in json.loads(second.stdout)['runs']] == ['finished', 'finished']
    assert (workdir / '.slurm/jobs.json').read_text() == numbers
    assert 'resume' not in (workdir / 'peak=0.001,seed=0/printed.log').read_text()


@pytest.mark.long
def test_runs_of_a_program_share_a_job_which_goes_on_after_it_made_room(on_slurm, tmp_path):
    sweep = tmp_path / 'sweep.py'
    sweep.write_text(
        "def get_sweep():\n    return dict(runs=dict(grid={'schedule.peak': [1e-3, 2e-3, 3e-3]}), seeds=1)\n"
    )
    workdir = tmp_path / 'runs'
    runs = [workdir / f'peak={peak},seed=0' for peak in ('0.001', '0.002', '0.003')]
    command = (*on_slurm.small(workdir), *LONG, f'--sweep={sweep}', '--engine=slurm', MINUTES, '--json')
    process = on_slurm.start('sweep', *command)
    wait_for_step(process, runs[1] / 'metrics.jsonl', 20)
    (number,) = {number_of(workdir, run.name) for run in runs}
    scancel(on_slurm, '--signal=USR2', number)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, out + err
    assert [run['status'] for run in json.loads(out)['runs']] == ['finished'] * 3
    assert {number_of(workdir, run.name) for run in runs} == {number}
    assert 'Requeued job' in (workdir / f'.slurm/{number}_0_log.out').read_text()
    assert ['resume ' in (run / 'printed.log').read_text() for run in runs] == [False, True, False]
    first, resumed, last = ((run / '.lock').read_text() for run in runs)  # the process that held it last
    assert first != resumed == last
    own = on_slurm.train(tmp_path / 'own', *LONG, '--config.schedule.peak=3e-3')
    assert own.returncode == 0, own.stderr
    assert losses(runs[2]) == losses(tmp_path / 'own')


@pytest.mark.long
def test_a_suite_is_carried_out_as_jobs_with_its_search_and_makes_its_page(on_slurm, tmp_path):
    sweep, suite, page = (tmp_path / name for name in ('sweep.py', 'suite.py', 'page.md'))
    tune = "tune=dict(by={'schedule.peak': [1e-3, 2e-3]}, seeds=[7], halving=dict(steps=[2]))"
    runs = "runs=dict(list=[{'name': 'one', 'model.layers': 1}, {'name': 'two', 'model.layers': 2}])"
    sweep.write_text(f'def get_sweep():\n    return dict({runs}, seeds=1, {tune})\n')
    files = dict(config=str(ROOT / 'experiments/diagnostics/recall.py'), sweep=str(sweep))
    small = {'steps': 4, 'batch_size': 4, 'data.validation': 8, 'model.vocabulary': 32, 'data.generator.vocabulary': 32}
    tasks = {'recall': files | {'fields': small}, 'again': files | {'fields': small | {'batch_size': 8}}}
    suite.write_text(f'def get_suite():\n    return {tasks!r}\n')
    done = on_slurm.run(
        'suite', f'--suite={suite}', f'--workdir={tmp_path / "runs"}', '--engine=slurm', MINUTES, f'--page={page}'
    )
    assert done.returncode == 0, done.stderr
    for task in tasks:
        assert [run.status for run in read_sweep(tmp_path / 'runs' / task).runs] == ['finished', 'finished']
        assert (tmp_path / 'runs' / task / '.slurm/jobs.json').is_file()
    assert '| variant | again | recall |' in page.read_text()


@pytest.mark.long
def test_a_job_that_cannot_be_is_refused_and_one_that_is_cancelled_saves(on_slurm, tmp_path):
    workdir = tmp_path / 'run'
    refused = on_slurm.run('slurm', *on_slurm.small(workdir), MINUTES, '--slurm=partition=none')
    assert_refused(refused, 'error: Slurm rejects the job: sbatch: error: ')
    process = on_slurm.start('slurm', *on_slurm.small(workdir), *LONG, MINUTES)
    wait_for_step(process, workdir / 'metrics.jsonl', 20)
    scancel(on_slurm, number_of(workdir, 'run'))
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert 'stopped by a signal' in out


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ((), '--slurm=time=MINUTES'),
        ((MINUTES, '--slurm=nodes'), 'write KEY=VALUE'),
        ((MINUTES, '--config.model.widht=3'), "did you mean 'width'"),
        ((MINUTES,), 'Slurm is not installed here'),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(runner, tmp_path, arguments, words):
    nowhere = replace(runner, environment={**runner.environment, 'PATH': str(tmp_path)})
    done = nowhere.run('slurm', *nowhere.small(tmp_path / 'run'), *arguments)
    assert_refused(done, words)
    assert not (tmp_path / 'run').exists()
