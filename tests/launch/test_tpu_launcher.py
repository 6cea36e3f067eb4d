# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training on a TPU slice from the command line: what a dry run prints, what is refused, and a run on a host."""

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from fake_gcloud import FakeGcloud
from fake_gcloud_program import asked
from refused import assert_refused

from saccade.train.log.log import read

PATIENCE = 60  # seconds
ROOT = Path(__file__).parents[2]
CONFIG = f'--config={ROOT}/experiments/causal_lm/gpt2_124m.py'
ASKED = (CONFIG, '--workdir=runs/gpt2', '--slice=v5litepod-16', '--zone=us-west4-a', '--config.mesh.fsdp=16')
WHOLE = (*ASKED, '--bucket=mine', '--runtime_version=v2-alpha-tpuv5-lite')


@dataclass(frozen=True)
class Launcher:
    """Attributes: runner, which runs launchers; the gcloud they find."""

    runner: Any
    gcloud: FakeGcloud

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        return self.runner.run('tpu', *arguments)


@pytest.fixture
def launcher(runner, tmp_path) -> Launcher:
    gcloud = FakeGcloud.at(tmp_path / 'gcloud')
    gcloud.answer(describe=[None, 'READY'], hosts=4)
    environment = {**runner.environment, 'SACCADE_CACHE': str(tmp_path / 'cache'), **gcloud.environment}
    return Launcher(replace(runner, environment=environment), gcloud)


def commands(printed: str) -> list[list[str]]:
    """The commands of a dry run, as a shell reads them."""
    return [shlex.split(line) for line in printed.splitlines() if line and not line.startswith('#')]


@pytest.mark.long
def test_a_dry_run_is_the_script_of_the_launch_and_calls_nobody(launcher):
    dry = launcher.run(*WHOLE, '--dry_run')
    assert (dry.returncode, dry.stderr, launcher.gcloud.calls()) == (0, '', [])
    assert not (launcher.gcloud.folder.parent / 'cache').exists()
    lines = dry.stdout.splitlines()
    assert all(lines[number - 1].startswith('# ') for number, line in enumerate(lines) if line and line[0] != '#')
    pack, *rest = commands(dry.stdout)
    assert pack[1:4] == ['-m', 'saccade.cloud.pack', str(ROOT)]

    done = launcher.run(*WHOLE, '--json')
    assert done.returncode == 0, done.stderr
    assert launcher.gcloud.calls() == rest
    ending = {'name': 'saccade-gpt2', 'status': 0, 'restarts': 0, 'why': None, 'tpu_exists': True}
    assert json.loads(done.stdout) == ending
    assert 'saccade-gpt2 is READY: 4 hosts' in done.stderr
    assert 'saccade-gpt2 exists (READY) and costs money once ready' in done.stderr


@pytest.mark.long
def test_a_dry_run_for_programs_and_what_a_launch_needs_besides(launcher):
    done = launcher.run(*ASKED, '--dry_run', '--json', '--queued', '--spot', '--project=p')
    plan = json.loads(done.stdout)
    assert plan['missing'] == ['runtime_version', 'bucket']
    verbs = [asked(each['command'][1:]) for each in plan['commands'][1:]]
    assert verbs[:4] == ['queue_describe', 'queue_create', 'queue_describe', 'describe']
    create = plan['commands'][2]['command']
    assert {'--spot', '--project=p', '--accelerator-type=v5litepod-16', '--runtime-version=RUNTIME_VERSION'} < {*create}
    assert 'queued-resources delete' in ' '.join(
        plan['besides']['the TPU still exists at the end, and costs money; to delete it']
    )
    assert launcher.gcloud.calls() == []
    assert '# a launch needs --bucket; BUCKET is a placeholder for it' in launcher.run(*ASKED, '--dry_run').stdout


@pytest.mark.long
def test_the_exit_status_is_that_of_the_host_that_failed(launcher):
    failed = '##### Command execution on worker 2 failed with exit status 9. Continuing.'
    launcher.gcloud.answer(follow=[{'status': 9, 'out': 'worker 2: it broke', 'err': failed}])
    done = launcher.run(*WHOLE, '--delete_after')
    assert done.returncode == 9
    assert done.stderr.startswith('error: worker 2, the first to fail, ended with status 9')
    assert done.stderr.count('\n') == 1
    assert 'worker 2: it broke' in done.stdout
    assert launcher.gcloud.asked()[-1] == 'delete'


@pytest.mark.long
def test_a_launch_that_is_ended_says_what_stands(launcher):
    """As with Ctrl-C, what runs there goes on."""
    launcher.gcloud.answer(follow=[{'before': 'sleep 60'}])
    launcher.gcloud.home().mkdir()
    process = launcher.runner.start('tpu', *WHOLE)
    try:
        deadline = time.monotonic() + PATIENCE
        while 'follow' not in launcher.gcloud.asked():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert (process.returncode, err) == (130, '')
    assert 'A training that has started continues' in out
    assert 'saccade-gpt2 exists (READY) and costs money once ready' in out


@pytest.mark.long
def test_teardown(launcher):
    done = launcher.run('--teardown', '--workdir=runs/gpt2', '--zone=us-west4-a')
    assert done.returncode == 0, done.stderr
    (call,) = launcher.gcloud.calls()
    assert shlex.join(call) == 'gcloud compute tpus tpu-vm delete saccade-gpt2 --zone=us-west4-a --quiet'


NO_LOGIN = 'ERROR: (gcloud.x) You do not currently have an active account selected.\nPlease run:\n\n$ gcloud auth login'


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ((), 'give --config=FILE, --workdir=FOLDER, --slice=TYPE and --zone=ZONE'),
        ((*WHOLE, '--config.model.layer=2'), "the config has no field 'layer'; did you mean 'layers'?"),
        ((*WHOLE, '--workdir=/runs'), '--workdir=/runs: it is a path in the bucket; write it relative'),
        (ASKED, 'give --runtime_version=RUNTIME_VERSION, the software version of its hosts; `gcloud'),
        ((*WHOLE, '--bucket=BUCKET'), 'give --bucket=BUCKET, the Cloud Storage bucket of the run'),
        ((*WHOLE, '--slices=1'), "there is no flag '--slices=1'; did you mean '--slice'?"),
        ((*WHOLE, '--bucket=..'), '--bucket=..: give only its name'),
        ((*WHOLE, '--name=--quiet', '--dry_run'), '--name=--quiet: 1 to 63 small letters, digits and hyphens'),
        (('--teardown', '--name=../x', '--zone=z'), '--name=../x: 1 to 63 small letters, digits and hyphens'),
        ((*WHOLE, '--wait_minutes=nan', '--dry_run'), '--wait_minutes=nan: must be a finite number'),
        (('--teardown', CONFIG, '--zone=z'), 'give --config=FILE, --workdir=FOLDER, --slice=TYPE and --zone=ZONE'),
    ],
)
def test_bad_input_is_one_line_before_gcloud_is_called(launcher, arguments, words):
    assert_refused(launcher.run(*arguments), words)
    assert launcher.gcloud.calls() == []


@pytest.mark.long
def test_gcloud_that_is_not_logged_in_is_one_line(launcher):
    launcher.gcloud.answer(describe=[{'status': 1, 'err': NO_LOGIN}])
    assert_refused(launcher.run(*WHOLE), 'gcloud is not logged in: run `gcloud auth login`')


@pytest.mark.long
def test_a_run_is_shipped_taken_away_and_resumed_to_its_end(launcher, tmp_path):
    """The whole repository and its own train.py, on a host that has all but TPUs."""
    gcloud, metrics = launcher.gcloud, 'saccade/buckets/mine/runs/a/metrics.jsonl'
    # What joins the hosts of a slice has none to join here.
    alone = f'#!/usr/bin/env bash\nset -- "${{@/#--distributed/--nojson}}"\nexec {sys.executable} "$@"\n'
    program = gcloud.folder / 'bin/python'
    program.write_text(alone)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    host_python = gcloud.folder / 'bin/python3.13'
    host_python.write_text(host_python.read_text().replace(f'exec {sys.executable}', f'exec {program}'))
    taken = f'until grep -q \'"step": 8\' {metrics}; do sleep 0.1; done; kill -KILL -- -$(cat saccade/process)'
    true = [True]
    gcloud.answer(hosts=1, describe=[None, 'READY', 'PREEMPTED', 'PREEMPTED', 'READY'], look=true, scp=true)
    gcloud.answer(prepare=true, start=true, follow=[{'before': taken, 'status': 255}, True])

    bucket = gcloud.home() / 'saccade/buckets/mine'
    bucket.mkdir(parents=True)
    shutil.copy(launcher.runner.text, bucket / 'my text.txt')
    small = [each for each in launcher.runner.small(Path()) if not each.startswith(('--workdir', '--config.data.path'))]
    done = launcher.run(*small, *WHOLE[2:4], *WHOLE[5:], '--workdir=runs/a', '--config.data.path=my text.txt')
    assert done.returncode == 0, done.stdout + done.stderr
    steps = [record['step'] for record in read(bucket / 'runs/a/metrics.jsonl') if record['split'] == 'train']
    assert steps == list(range(1, 21))
    assert 'worker 0: resume      from step ' in done.stdout
    assert gcloud.asked().count('create') == 2


@pytest.mark.long
@pytest.mark.skipif(shutil.which('gcloud') is None, reason='the Google Cloud CLI is not installed')
@pytest.mark.parametrize('more', [(), ('--queued', '--spot')])
def test_gcloud_itself_takes_every_flag(launcher, tmp_path, more):
    """Without an account it can do nothing, and says so only where it has understood."""
    more = (*more, '--create_flag=--reserved', '--create_flag=--network=n', '--connect_flag=--internal-ip')
    plan = json.loads(launcher.run(*WHOLE, '--project=p', '--dry_run', '--json', *more).stdout)
    lines = [each['command'] for each in plan['commands'][1:]] + list(plan['besides'].values())
    nobody = {'CLOUDSDK_CONFIG': str(tmp_path / 'nobody'), 'CLOUDSDK_CORE_CHECK_GCE_METADATA': 'false'}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(('CLOUDSDK', 'GOOGLE'))}
    assert sum('--network=n' in line for line in lines) == 1
    assert sum('--internal-ip' in line for line in lines) == 6
    for line in {tuple(line) for line in lines}:
        done = subprocess.run(line, env={**kept, **nobody}, capture_output=True, text=True, check=False)
        assert 'You do not currently have an active account selected' in done.stderr, (line, done.stderr)
