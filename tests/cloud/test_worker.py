# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a host does, done for real: each host a home folder here, and the training a few lines of Python."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_gcloud import FakeGcloud

from saccade.cloud.gcloud import Gcloud
from saccade.cloud.launch import CloudTraining, Launch, LaunchResult
from saccade.cloud.tpu import TPU, RetryPolicy, SliceSpec

PATIENCE = 60  # seconds
PRINTS = 'import os, sys\nprint(os.getcwd(), os.environ["TEXT"], sys.argv[1:])\n'
# Six steps, each kept in the run's folder; of the first life, no more than three.
RESUMES = """import pathlib, sys, time
steps = pathlib.Path('runs/a/steps')
steps.parent.mkdir(parents=True, exist_ok=True)
done = steps.read_text().split() if steps.exists() else []
first_life = not done
print('from step', len(done))
for step in range(len(done), 6):
    while first_life and step == 3:
        time.sleep(0.1)
    steps.write_text(' '.join([*done, str(step)]))
    done = steps.read_text().split()
"""
WAITS = """import pathlib, time
print('before')
pathlib.Path('begun').touch()
while not pathlib.Path('go').exists():
    time.sleep(0.1)
print('after')
"""
# Ends when it is told to, as a run does that saves.
SAVES = """import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print('saved'), sys.exit(0)))
pathlib.Path('begun').touch()
time.sleep(60)
"""


@pytest.fixture
def hosts(gcloud) -> Iterator[FakeGcloud]:
    """A slice whose hosts do what they are told, and that leaves no process behind."""
    true = [True]
    gcloud.answer(describe=['READY'], look=true, scp=true, prepare=true, start=true, follow=true, stop=true)
    yield gcloud
    for process in gcloud.folder.glob('host-*/saccade/process'):
        try:
            os.killpg(int(process.read_text()), signal.SIGKILL)
        except ProcessLookupError:
            continue


def launch(hosts: FakeGcloud, code: Path, train: str, overrides: tuple[str, ...] = ()) -> Launch:
    (code / 'launch/train.py').write_text(train)
    config = str(code / 'experiments/tiny.py')
    training = CloudTraining.of(code, config, 'runs/a', overrides, 'mine', ["TEXT=it's $HOME"])
    tpu = TPU(SliceSpec('saccade-a', 'z', 'v5litepod-16', 'v'))
    return Launch(tpu, training, hosts.folder / 'code.tar.gz', RetryPolicy(1.0, 3, 0.01))


def run(job: Launch, said: list[str]) -> LaunchResult:
    return job.run(Gcloud(said.append), said.append)


@pytest.mark.long
def test_the_training_gets_its_words_whole_in_the_bucket_on_every_host(hosts, code):
    hosts.answer(hosts=2)
    overrides, said = ("--config.a={'use': \"b:C\", 'd': [1, 2]}", '--config.e=$PATH `f` *'), []
    assert run(launch(hosts, code, PRINTS, overrides), said).status == 0
    flags = ['--config=../../code/experiments/tiny.py', '--workdir=runs/a', '--distributed', *overrides]
    for host in range(2):
        bucket = hosts.home(host) / 'saccade/buckets/mine'
        assert f"worker {host}: {bucket} it's $HOME {flags}" in said


@pytest.mark.long
def test_it_is_installed_once_until_pyproject_changes_and_the_code_is_always_that_of_here(hosts, code):
    said: list[str] = []
    assert run(launch(hosts, code, "print('first')"), said).status == 0
    pip, gcsfuse = hosts.home() / 'pip', hosts.home() / 'gcsfuse'
    command = f'-m pip install --quiet --disable-pip-version-check --editable {hosts.home()}/saccade/code[tpu]\n'
    assert pip.read_text() == command
    assert gcsfuse.read_text().endswith(f' mine {hosts.home()}/saccade/buckets/mine\n')

    assert run(launch(hosts, code, "print('second')"), said).status == 0
    assert pip.read_text() == command
    assert [line for line in said if line.startswith('worker 0')] == ['worker 0: first', 'worker 0: second']

    (code / 'pyproject.toml').write_text('[project] # changed')
    assert run(launch(hosts, code, PRINTS), said).status == 0
    assert pip.read_text() == 2 * command


@pytest.mark.long
def test_an_installation_that_fails_is_not_taken_for_one(hosts, code):
    python = hosts.folder / 'bin/python3.13'
    whole, said = python.read_text(), []
    python.write_text(whole.replace('echo "$@" >> "$HOME/pip"', 'echo no space left; exit 1'))
    job = launch(hosts, code, PRINTS)
    ending = run(job, said)
    assert (ending.status, 'no space left' in said) == (1, True)
    assert 'install its dependencies' in ending.why
    python.write_text(whole)
    assert run(job, said).status == 0
    assert (hosts.home() / 'pip').exists()


def test_the_status_and_the_words_of_the_worker_that_failed(hosts, code):
    hosts.answer(hosts=3)
    said: list[str] = []
    train = "import os, sys\nsys.exit('it broke' if os.environ['HOSTNAME'].endswith('1') else 0)"
    ending = run(launch(hosts, code, train), said)
    assert (ending.status, ending.restarts) == (1, 0)
    assert ending.why.startswith('worker 1, the first to fail, ended with status 1')
    assert 'worker 1: it broke' in said
    assert 'worker 1: the training ended with status 1' in said


@pytest.mark.long
def test_after_a_preemption_it_resumes_from_what_lies_in_the_bucket(hosts, code):
    steps = hosts.home() / 'saccade/buckets/mine/runs/a/steps'
    taken = f'until grep -q 2 {steps}; do sleep 0.1; done; kill -KILL -- -$(cat saccade/process)'
    states = ['READY', 'PREEMPTED', 'PREEMPTED', 'READY']
    hosts.answer(describe=states, follow=[{'before': taken, 'status': 255}, True])
    said: list[str] = []
    assert run(launch(hosts, code, RESUMES), said) == LaunchResult(restarts=1, tpu_exists=True)
    assert steps.read_text() == '0 1 2 3 4 5'
    assert 'worker 0: from step 3' in said
    verbs = ['look', 'scp', 'prepare', 'start', 'follow']
    assert [each for each in hosts.asked() if each != 'describe'] == [*verbs, 'delete', 'create', *verbs]


@pytest.mark.long
def test_a_training_outlives_the_connection_and_is_followed_again(hosts, code):
    """Nothing is shipped or started a second time."""
    wait = 'until [ -e saccade/buckets/mine/begun ]; do sleep 0.1; done'
    hosts.answer(follow=[{'before': wait, 'status': 255}, True])
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        if 'following it' in text:
            (hosts.home() / 'saccade/buckets/mine/go').touch()

    assert launch(hosts, code, WAITS).run(Gcloud(said.append), say) == LaunchResult(restarts=1, tpu_exists=True)
    asked = [each for each in hosts.asked() if each != 'describe']
    assert asked == ['look', 'scp', 'prepare', 'start', 'follow', 'look', 'follow']
    assert [line for line in said if line.startswith('worker')] == ['worker 0: before', 'worker 0: after']


def test_who_follows_again_is_spared_what_was_seen(hosts, code):
    said: list[str] = []
    job, runner = launch(hosts, code, 'for line in range(100):\n    print(line)'), Gcloud(said.append)
    for command in (job.pack(), job.ship(), job.prepare(), job.start(), job.follow(), job.follow()):
        assert runner.do(command).status == 0
    assert [line for line in said if line.startswith('worker')] == [
        f'worker 0: {n}' for n in [*range(100), *range(80, 100)]
    ]


@pytest.mark.long
def test_another_training_is_left_in_peace_and_stop_has_it_save(hosts, code):
    said: list[str] = []
    job = launch(hosts, code, SAVES)
    runner = Gcloud(said.append)
    for command in (job.pack(), job.ship(), job.prepare(), job.start()):
        assert runner.do(command).status == 0
    until((hosts.home() / 'saccade/buckets/mine/begun').exists)
    other = launch(hosts, code, SAVES, overrides=('--config.seed=1',))
    assert runner.do(job.look()).status == 75
    assert runner.do(other.look()).status == 76
    other.training = replace(job.training, bucket='yours')
    assert runner.do(other.look()).status == 76
    assert runner.do(job.start()).status == 75
    assert runner.do(job.stop()).status == 0
    assert runner.do(job.look()).status == 0
    assert runner.do(job.follow()).status == 0
    assert 'worker 0: saved' in said


def test_a_host_that_shuts_down_lets_the_training_save_and_it_is_not_taken_for_finished(hosts, code):
    """Hosts that are taken away are told so: every process of theirs gets a SIGTERM."""
    shut_down = 'until [ -e saccade/buckets/mine/begun ]; do sleep 0.1; done; kill -TERM -- -$(cat saccade/process)'
    hosts.answer(follow=[{'before': shut_down, 'status': 0}, True], describe=['READY'])
    said: list[str] = []
    job, runner = launch(hosts, code, SAVES), Gcloud(said.append)
    for command in (job.pack(), job.ship(), job.prepare(), job.start()):
        assert runner.do(command).status == 0
    assert runner.do(job.follow()).status == 0  # which is only the fake that shuts the host down
    assert runner.do(job.follow()).status == 143
    assert 'worker 0: saved' in said


@pytest.mark.long
def test_a_training_that_was_killed_did_not_end_well_though_one_before_it_did(hosts, code):
    said: list[str] = []
    assert run(launch(hosts, code, PRINTS), said).status == 0
    assert run(launch(hosts, code, 'import os, signal\nos.killpg(0, signal.SIGKILL)'), said).status == 137
    assert 'worker 0: the training ended with status 137' in said


def test_what_it_prints_is_shown_as_it_comes(hosts, code, monkeypatch):
    """It waits for an answer to its first line, and would wait for ever."""
    monkeypatch.delenv('PYTHONUNBUFFERED', raising=False)
    said: list[str] = []

    def show(text: str) -> None:
        said.append(text)
        if text == 'worker 0: before':
            (hosts.home() / 'saccade/buckets/mine/go').touch()

    job = launch(hosts, code, WAITS)
    assert job.run(Gcloud(show), said.append).status == 0
    assert 'worker 0: after' in said


def test_the_script_is_sound_bash(code):
    script = code / 'src/saccade/cloud/worker.sh'
    subprocess.run(['bash', '-n', str(script)], check=True)


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
