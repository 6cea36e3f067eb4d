# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A launch against a gcloud that notes its calls down and can fail: what is run, and what is made of each ending."""

import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from fake_gcloud import FakeGcloud

from saccade.cloud.gcloud import Gcloud
from saccade.cloud.launch import CloudTraining, Launch, LaunchResult, Teardown, name_of
from saccade.cloud.tpu import TPU, QueuedTPU, RetryPolicy, SliceSpec
from saccade.types import UserError

pytestmark = pytest.mark.long

WANTED = SliceSpec('saccade-a', 'us-west4-a', 'v5litepod-16', 'v2-alpha-tpuv5-lite', 'p')
LAUNCHED = ['describe', 'create', 'describe', 'look', 'scp', 'prepare', 'start', 'follow', 'describe']


@dataclass
class Launched:
    """Attributes: the fake; the code that is shipped; what was said."""

    gcloud: FakeGcloud
    code: Path
    said: list[str] = field(default_factory=list)

    def launch(self, kind: type[TPU] = TPU, minutes: float = 1.0, restarts: int = 3, keep: bool = True) -> Launch:
        config = str(self.code / 'experiments/tiny.py')
        training = CloudTraining.of(
            self.code, config, 'runs/a', ["--config.text=it's $HOME"], 'mine', ['XLA_FLAGS=--a --b']
        )
        archive = self.gcloud.folder / 'code.tar.gz'
        return Launch(kind(WANTED), training, archive, RetryPolicy(minutes, restarts, 0.01), keep)

    def run(self, **options) -> LaunchResult:
        return self.launch(**options).run(Gcloud(self.said.append), self.said.append)

    @property
    def text(self) -> str:
        return '\n'.join(self.said)


@pytest.fixture
def launched(gcloud, code) -> Launched:
    gcloud.answer(describe=[None, 'READY'])
    return Launched(gcloud, code)


@pytest.mark.parametrize('keep', [True, False])
@pytest.mark.parametrize('kind', [TPU, QueuedTPU])
def test_a_dry_run_prints_what_a_launch_runs_and_runs_nothing(launched, kind, keep):
    launched.gcloud.answer(
        queue_describe=[None, 'ACTIVE'], describe=['READY'] if kind is QueuedTPU else [None, 'READY']
    )
    plan = launched.launch(kind, keep=keep).plan()
    assert launched.gcloud.calls() == []
    assert not (launched.gcloud.folder / 'code.tar.gz').exists()
    pack, *commands = [list(command.argv) for command in plan.commands]
    assert pack[1:3] == ['-m', 'saccade.cloud.pack']
    assert launched.run(kind=kind, keep=keep) == LaunchResult(tpu_exists=keep)
    assert launched.gcloud.calls() == commands
    assert (launched.gcloud.folder / 'code.tar.gz').exists()


def test_the_order_of_a_launch(launched):
    assert launched.run().status == 0
    assert launched.gcloud.asked() == LAUNCHED


def test_what_stands_is_taken(launched):
    launched.gcloud.answer(describe=['READY'])
    assert launched.run().status == 0
    assert launched.gcloud.asked() == ['describe', 'look', 'scp', 'prepare', 'start', 'follow', 'describe']


def test_it_waits_until_the_slice_is_ready(launched):
    launched.gcloud.answer(describe=['CREATING', 'CREATING', 'STARTING', 'READY'])
    assert launched.run().status == 0
    assert 'create' not in launched.gcloud.asked()
    assert [line for line in launched.said if ' is ' in line][:2] == ['saccade-a is CREATING', 'saccade-a is STARTING']


def test_it_waits_in_the_queue(launched):
    states = [None, 'ACCEPTED', 'WAITING_FOR_RESOURCES', 'PROVISIONING', 'ACTIVE']
    launched.gcloud.answer(queue_describe=states, describe=[None, 'CREATING', 'READY'])
    assert launched.run(kind=QueuedTPU).status == 0
    asked = [each for each in launched.gcloud.asked() if 'describe' not in each]
    assert asked == ['queue_create', 'look', 'scp', 'prepare', 'start', 'follow']
    assert all(f'saccade-a is {state}' in launched.text for state in states[1:])


def test_it_waits_no_longer_than_it_is_told(launched):
    launched.gcloud.answer(describe=['CREATING'])
    with pytest.raises(UserError, match=r'not ready after --wait_minutes=0.002: it is CREATING'):
        launched.run(minutes=0.002)
    assert 'saccade-a exists (CREATING) and costs money once ready' in launched.text


def test_a_creation_that_takes_too_long_is_ended(launched):
    launched.gcloud.answer(describe=[None], create=[{'before': 'sleep 60'}])
    launched.gcloud.home().mkdir()
    begin = time.monotonic()
    with pytest.raises(UserError, match=r'it is not there; the same command continues to wait, and this cancels: gc'):
        launched.run(minutes=0.01)
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize(
    ('kind', 'lost', 'states'),
    [
        (TPU, {}, ['PREEMPTED', 'PREEMPTED', 'READY']),
        (TPU, {}, ['TERMINATED', 'TERMINATED', 'READY']),
        (TPU, {}, [None, None, 'READY']),
        (QueuedTPU, {'queue_describe': [None, 'ACTIVE', 'SUSPENDED', 'SUSPENDED', 'ACTIVE']}, ['READY']),
    ],
)
def test_a_slice_that_is_taken_away_is_had_anew_and_the_same_is_started_again(launched, kind, lost, states):
    before = ['READY'] if kind is QueuedTPU else [None, 'READY']
    launched.gcloud.answer(describe=[*before, *states], follow=[1, 0], **lost)
    ending = launched.run(kind=kind)
    assert ending == LaunchResult(restarts=1, tpu_exists=True)
    asked = [each.removeprefix('queue_') for each in launched.gcloud.asked() if 'describe' not in each]
    again = ['look', 'scp', 'prepare', 'start', 'follow']
    deleted = [] if states[0] is None else ['delete']
    assert asked == ['create', *again, *deleted, 'create', *again]
    starts = [call for call in launched.gcloud.calls() if 'worker.sh start' in call[-1]]
    assert starts[0] == starts[1]
    assert 'saccade-a is lost: restart 1 of 3' in launched.text


@pytest.mark.parametrize('step', ['look', 'scp', 'prepare', 'start'])
def test_it_may_be_taken_away_at_any_step(launched, step):
    launched.gcloud.answer(describe=[None, 'READY', 'PREEMPTED', 'PREEMPTED', 'READY'], **{step: [1, 0]})
    assert launched.run() == LaunchResult(restarts=1, tpu_exists=True)


@pytest.mark.long
def test_so_many_restarts_and_no_more(launched):
    launched.gcloud.answer(describe=[None, *['READY', 'PREEMPTED', 'PREEMPTED'] * 2, 'READY', 'PREEMPTED'], follow=[1])
    ending = launched.run(restarts=2, keep=False)
    assert ending == LaunchResult(1, restarts=2, why='saccade-a was lost again after --restarts=2')
    assert [each for each in launched.gcloud.asked() if each in ('create', 'delete')] == 3 * ['create', 'delete']


def test_what_is_gone_is_not_deleted(launched):
    launched.gcloud.answer(describe=[None, 'READY', None], follow=[1])
    ending = launched.run(restarts=0, keep=False)
    assert (ending.status, ending.tpu_exists) == (1, False)
    assert 'delete' not in launched.gcloud.asked()
    assert 'stand' not in launched.text


def test_a_connection_that_breaks_is_taken_up_again_and_nothing_is_started_twice(launched):
    said = 'ERROR: (gcloud.compute.tpus.tpu-vm.ssh) [/usr/bin/ssh] exited with return code [255].'
    launched.gcloud.answer(look=[0, 75], follow=[{'status': 1, 'err': said}, 255, 0])
    assert launched.run() == LaunchResult(restarts=2, tpu_exists=True)
    asked = [each for each in launched.gcloud.asked() if each != 'describe']
    assert asked == ['create', 'look', 'scp', 'prepare', 'start', 'follow', 'look', 'follow', 'look', 'follow']


@pytest.mark.parametrize('hosts', [1, 2])
def test_a_host_that_is_shut_down_is_lost_before_google_says_so(launched, hosts):
    told = {'status': 143} if hosts == 1 else {'status': 1, 'err': FAILED.format(0, 1) + FAILED.format(1, 143)}
    launched.gcloud.answer(follow=[told, 0])
    assert launched.run() == LaunchResult(restarts=1, tpu_exists=True)


def test_after_a_loss_it_waits_until_there_is_one_to_be_had(launched):
    states = [None, 'READY', 'PREEMPTED', 'PREEMPTED', None, None, 'READY']
    launched.gcloud.answer(describe=states, follow=[1, 0], create=[0, NO_CAPACITY, NO_CAPACITY, 0])
    assert launched.run() == LaunchResult(restarts=1, tpu_exists=True)
    assert launched.gcloud.asked().count('create') == 4


def test_the_worker_that_fails_first_is_named_and_its_status_is_the_end(launched):
    launched.gcloud.answer(follow=[{'status': 1, 'err': FAILED.format(2, 3) + FAILED.format(0, 1)}])
    ending = launched.run()
    assert (ending.status, ending.restarts, ending.tpu_exists) == (3, 0, True)
    assert ending.why == (
        'worker 2, the first to fail, ended with status 3, told to '
        "show the training's output until it ends; its own output is above"
    )


def test_a_refusal_of_gclouds_own_is_told_from_a_failure_on_a_host(launched):
    said = 'ERROR: (gcloud.compute.tpus.tpu-vm.scp) SSH Key is not present in the SSH agent. Please run "ssh-add k".'
    launched.gcloud.answer(scp=[{'status': 1, 'err': said}])
    ending = launched.run()
    assert (ending.status, ending.restarts) == (1, 0)
    assert ending.why.startswith('could not copy the code to every host: SSH Key is not present')


def test_a_single_host_has_no_number(launched):
    launched.gcloud.answer(prepare=[7])
    ending = launched.run()
    assert (ending.status, 'start' in launched.gcloud.asked()) == (7, False)
    assert ending.why.startswith('a host ended with status 7, told to unpack the code, ')


def test_a_training_that_is_at_work_is_followed_and_another_is_left_in_peace(launched):
    launched.gcloud.answer(describe=['READY'], look=[75])
    assert launched.run().status == 0
    assert launched.gcloud.asked() == ['describe', 'look', 'follow', 'describe']
    launched.gcloud.answer(look=[76])
    with pytest.raises(UserError, match=r'saccade-a runs another training; end it with: gcloud .* stop'):
        launched.run()


def test_it_says_what_stands_and_how_to_delete_it(launched):
    launched.run()
    assert launched.said[-1] == (
        'saccade-a exists (READY) and costs money once ready. To delete it:\n'
        '  gcloud compute tpus tpu-vm delete saccade-a --zone=us-west4-a --project=p --quiet'
    )


@pytest.mark.parametrize('status', [0, 5])
def test_it_may_be_deleted_at_the_end_well_or_not(launched, status):
    launched.gcloud.answer(follow=[status])
    ending = launched.run(keep=False)
    assert (ending.status, ending.tpu_exists) == (status, False)
    assert [each for each in launched.gcloud.asked() if each != 'describe'][-2:] == ['follow', 'delete']
    assert 'To delete it' not in launched.text


def test_a_deletion_that_fails_is_not_silent(launched):
    launched.gcloud.answer(delete=[{'status': 1, 'err': 'ERROR: (gcloud.x) PERMISSION_DENIED: no'}])
    assert launched.run(keep=False).tpu_exists
    assert 'saccade-a may still exist and cost money: could not delete the TPU: PERMISSION_DENIED: no.' in launched.text


def test_teardown_deletes_it(launched):
    assert Teardown(QueuedTPU(WANTED)).run(Gcloud(launched.said.append), launched.said.append) == LaunchResult()
    (call,) = launched.gcloud.calls()
    line = 'gcloud compute tpus queued-resources delete saccade-a --zone=us-west4-a --project=p --quiet --force'
    assert ' '.join(call) == line
    assert call == list(Teardown(QueuedTPU(WANTED)).plan().commands[0].argv)


FAILED = '##### Command execution on worker {} failed with exit status {}. Continuing.\n'
NO_CAPACITY = {
    'status': 1,
    'err': 'Create request issued for: [saccade-a]\nWaiting for operation [o] to complete...failed.\n'
    'ERROR: (gcloud.compute.tpus.tpu-vm.create) {\n  "code": 8,\n  "message": "There is no more capacity in the zone '
    '\\"us-west4-a\\"; you can try in another zone"\n}',
}
NOT_LOGGED_IN = """ERROR: (gcloud.compute.tpus.tpu-vm.describe) You do not currently have an active account selected.
Please run:

  $ gcloud auth login

to obtain new credentials."""
NO_PROJECT = """ERROR: (gcloud.compute.tpus.tpu-vm.describe) Error parsing [tpu].
The [tpu] resource is not properly specified.
Failed to find attribute [project]. The attribute can be set in the following ways: 
- set the property `core/project`"""  # noqa: W291, as gcloud prints it
QUOTA = (
    "ERROR: (gcloud.compute.tpus.tpu-vm.create) RESOURCE_EXHAUSTED: Quota limit 'TPUV5sLitepodPerProjectPerZone' has "
    'been exceeded. Limit: 0 in zone us-west4-a.'
)
NO_ZONE = (
    "ERROR: (gcloud.compute.tpus.tpu-vm.describe) PERMISSION_DENIED: Permission denied on 'locations/mars' (or it may "
    'not exist). This command is authenticated as me@here which is the active account specified by the [core/account] '
    'property.'
)
NO_SLICE = 'ERROR: (gcloud.compute.tpus.tpu-vm.create) INVALID_ARGUMENT: CloudTpu received an invalid AcceleratorType'


@pytest.mark.parametrize(
    ('changed', 'words'),
    [
        (
            {'name': '--quiet'},
            '--name=--quiet: 1 to 63 small letters, digits and hyphens, a letter first (https://cloud.',
        ),
        ({'name': '../../../x'}, '--name=../../../x: 1 to 63 small letters'),
        ({'name': '-a'}, '--name=-a: 1 to 63 small letters'),
        ({'name': 'a' * 64}, '1 to 63 small letters'),
        ({'name': 'a\n'}, '1 to 63 small letters'),
        ({'name': ''}, '--name=: 1 to 63 small letters'),
        ({'zone': '--help'}, '--zone=--help: a zone is written as us-west4-a'),
        ({'zone': 'us west4'}, '--zone=us west4: a zone is written as'),
        ({'slice': '-16'}, '--slice=-16: a type is written as v5litepod-16'),
        ({'slice': 'v4 8'}, '--slice=v4 8: a type is written as'),
        ({'version': '--spot'}, '--runtime_version=--spot: a version is written as v2-alpha-tpuv5-lite'),
        ({'version': 'v 2'}, '--runtime_version=v 2: a version'),
        ({'project': '--quiet'}, '--project=--quiet: a project is written as'),
    ],
)
def test_a_name_that_gcloud_would_take_for_something_else_is_refused(changed, words):
    with pytest.raises(UserError, match=f'^{re.escape(words)}' if words.startswith('--') else re.escape(words)):
        replace(WANTED, **changed)


@pytest.mark.parametrize('zone', ['us-west4-a', 'northamerica-northeast1-b', 'us-central1-ai1a'])
@pytest.mark.parametrize('version', ['tpu-ubuntu2204-base', 'v2-alpha-tpuv5-lite', 'tpu-vm-tf-2.16.1-pjrt'])
@pytest.mark.parametrize('project', [None, 'my-project-123', 'example.com:mine'])
def test_names_that_google_uses_are_taken(zone, version, project):
    assert replace(WANTED, zone=zone, version=version, project=project, slice='tpu7x-8')


@pytest.mark.parametrize('minutes', [float('nan'), float('inf'), -1.0, 1e300])
def test_a_time_to_wait_that_is_none_is_refused(minutes):
    with pytest.raises(UserError, match=r'^--wait_minutes=\S+: give minutes, from 0 to 525,600 \(a year\)$'):
        RetryPolicy(minutes, 1)


@pytest.mark.parametrize(
    ('answers', 'words'),
    [
        ({'describe': [NOT_LOGGED_IN]}, 'gcloud is not logged in: run `gcloud auth login`'),
        ({'describe': [NO_PROJECT]}, 'no Google Cloud project: give --project=ID'),
        (
            {'describe': [NO_ZONE]},
            "could not describe the TPU: PERMISSION_DENIED: Permission denied on 'locations/mars'",
        ),
        ({'create': [QUOTA]}, 'over your quota, which https://'),
        ({'create': [QUOTA]}, 'Limit: 0 in zone us-west4-a'),
        ({'create': [NO_SLICE]}, 'could not create the TPU: INVALID_ARGUMENT: CloudTpu received an invalid Accelera'),
        (
            {'create': [NO_CAPACITY['err']]},
            'no capacity for this TPU at present: There is no more capacity in the zone "',
        ),
        ({'create': [NO_CAPACITY['err']]}, 'another zone; --queued waits'),
    ],
)
def test_what_gcloud_refuses_is_one_line_and_costs_nothing(launched, answers, words):
    told = {name: [{'status': 1, 'err': err} for err in errs] for name, errs in answers.items()}
    launched.gcloud.answer(**{'describe': [None], **told})
    with pytest.raises(UserError) as caught:
        launched.run()
    assert words in str(caught.value)
    assert '\n' not in str(caught.value)
    assert 'ERROR' not in launched.text
    assert 'To delete it' not in launched.text
    assert {'ssh', 'scp', 'delete'}.isdisjoint(launched.gcloud.asked())


@pytest.mark.parametrize(
    ('answers', 'words'),
    [
        ({'describe': ['STOPPED']}, 'saccade-a is STOPPED: start it or delete it, or choose another --name'),
        ({'queue_describe': ['FAILED']}, 'saccade-a could not be created, and must be deleted: no such luck'),
    ],
)
def test_what_stands_and_cannot_be_used_is_refused(launched, answers, words):
    launched.gcloud.answer(**answers)
    with pytest.raises(UserError, match=words):
        launched.run(kind=QueuedTPU if 'queue_describe' in answers else TPU)


def test_a_slice_of_another_kind_is_not_taken(launched):
    launched.gcloud.answer(describe=['READY'])
    tpu = TPU(SliceSpec('saccade-a', 'us-west4-a', 'v5litepod-256', 'v'))
    launch = launched.launch()
    launch.tpu = tpu
    with pytest.raises(UserError, match='saccade-a exists and is a v5litepod-16: choose another --name'):
        launch.run(Gcloud(launched.said.append), launched.said.append)


def test_without_gcloud_it_says_how_to_get_it(launched, monkeypatch):
    monkeypatch.setenv('PATH', str(Path(sys.executable).parent / 'nothing'))
    with pytest.raises(UserError, match='there is no `gcloud` on the PATH: install the Google Cloud CLI'):
        launched.run()


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'workdir': '/tmp/a'}, '--workdir=/tmp/a: it is a path in the bucket'),
        ({'workdir': 'gs://mine/a'}, 'it is a path in the bucket'),
        ({'workdir': '../a'}, 'it is a path in the bucket'),
        ({'bucket': 'gs://mine/folder'}, '--bucket=mine/folder: give only its name'),
        ({'bucket': 'mine; reboot'}, 'give only its name'),
        ({'bucket': '..'}, '--bucket=..: give only its name, of small letters, digits, dashes'),
        ({'bucket': 'a..b'}, 'give only its name'),
        ({'bucket': '--help'}, '--bucket=--help: give only its name'),
        ({'bucket': 'Mine'}, 'https://cloud.google.com/storage/docs/buckets#naming'),
        ({'bucket': ''}, '--bucket=: give only its name'),
        ({'environment': ['XLA']}, '--env=XLA: write NAME=VALUE'),
        ({'config': 'elsewhere.py'}, '--config=elsewhere.py: it is not among the copied files: put it into '),
    ],
)
def test_what_the_hosts_would_not_find_is_refused(code, change, words):
    given = {'config': str(code / 'experiments/tiny.py'), 'workdir': 'a', 'overrides': (), 'bucket': 'gs://mine/',
             'environment': ()}  # fmt: skip
    assert CloudTraining.of(code, **given).bucket == 'mine'
    with pytest.raises(UserError, match=words):
        CloudTraining.of(code, **{**given, **change})


def test_names_are_such_as_google_takes():
    assert [name_of(each) for each in ('runs/gpt2', 'runs/GPT_2.b', 'a/lr=0.1,seed=1/')] == [
        'saccade-gpt2',
        'saccade-gpt-2-b',
        'saccade-lr-0-1-seed-1',
    ]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """As at a terminal; what a shell starts in the background does not heed Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures('interruptible')
def test_it_may_be_interrupted_and_says_what_goes_on(launched):
    """Ctrl-C ends gcloud with it, and not what runs there."""
    launched.gcloud.answer(follow=[{'before': 'sleep 60'}])
    launched.gcloud.home().mkdir()

    def interrupt() -> None:
        while 'follow' not in launched.gcloud.asked():
            time.sleep(0.1)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # it is that which waits

    begin, thread = time.monotonic(), threading.Thread(target=interrupt)
    thread.start()
    ending = launched.run(keep=False)
    thread.join()
    assert time.monotonic() - begin < 30
    assert (ending.status, ending.tpu_exists) == (128 + signal.SIGINT, True)
    assert 'A training that has started continues' in launched.text
    assert 'worker.sh stop' in launched.text
    assert 'saccade-a exists (READY) and costs money once ready' in launched.text
    assert 'delete' not in launched.gcloud.asked()
