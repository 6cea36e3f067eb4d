# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs in buckets: killed between any two changes of the bucket and continued elsewhere, one run at a time."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import fsspec
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from saccade.train import bucket as buckets
from saccade.train.bucket import LEASE, SEAL
from saccade.train.checkpoint import Checkpoints
from saccade.train.config import load_config
from saccade.train.log.log import read
from saccade.train.loop import Options, train
from saccade.train.process.lock import locked
from saccade.train.trained import open_run
from saccade.train.workdir import Workdir
from saccade.types import UserError

URL = 'memory://bucket/run'
CHANGES = 'put_file', 'pipe_file', 'rm_file'
READS = 'cat_file', 'get_file', 'ls', 'find'
LIKE = {'params': jax.ShapeDtypeStruct((3,), jnp.float32), 'step': jax.ShapeDtypeStruct((), jnp.int32)}
FIELDS = (
    'model.width=16',
    'model.layers=1',
    'model.block.mixer.heads=2',
    'steps=8',
    'batch_size=2',
    'sample=None',
    'log_every=1',
    'eval_every=4',
    'checkpoint_every=2',
    'keep_last=1',
)
EXPERIMENTS = Path(__file__).parents[2] / 'experiments'


class Store:
    """A bucket in memory. Its writer is dead once `left` changes were made: nothing that it asks for is done."""

    def __init__(self, monkeypatch):
        self.left, self.changes = float('inf'), []
        for name in (*CHANGES, *READS):
            monkeypatch.setattr(MemoryFileSystem, name, self.watched(name, getattr(MemoryFileSystem, name)))

    def watched(self, name, method):
        def instead(files, *arguments, **options):
            if self.left <= 0:
                raise ConnectionError('killed')
            if name in CHANGES:
                self.left -= 1
                self.changes.append((name, arguments[name == 'put_file'].removeprefix('/bucket/run/')))
            return method(files, *arguments, **options)

        return instead

    def files(self):
        found = fsspec.filesystem('memory').find('/bucket/run')
        return sorted(name.removeprefix('/bucket/run/') for name in found)

    def sealed(self):
        return sorted(int(name.split('/')[1]) for name in self.files() if name.endswith(SEAL))


@pytest.fixture
def store(monkeypatch, tmp_path):
    monkeypatch.setattr(MemoryFileSystem, 'store', {})
    monkeypatch.setattr(MemoryFileSystem, 'pseudo_dirs', [''])
    monkeypatch.setattr(buckets, 'SETTLED', 0)
    monkeypatch.setattr(buckets, 'EXPIRED', 0)
    monkeypatch.setenv('SACCADE_CACHE', str(tmp_path / 'here'))
    return Store(monkeypatch)


def elsewhere(monkeypatch, path):
    """Go to another machine, whose local folder is empty."""
    monkeypatch.setenv('SACCADE_CACHE', str(path))


def config(*fields):
    fields = (*FIELDS, f'data.path={EXPERIMENTS.parent / "README.md"}', *fields)
    file = EXPERIMENTS / 'causal_lm' / 'quickstart.py'
    return load_config(str(file), [f'--config.{field}' for field in fields])


def state(step):
    return {'params': jnp.full(3, step, jnp.float32), 'step': jnp.int32(step)}


def refuse(owner):
    raise UserError(f'trained by {owner}')


@contextlib.contextmanager
def opened(keep_best=1):
    """The checkpoints of a run in the bucket, as training opens them; a killed one ends in an error."""
    run = Workdir.at(URL)
    with (
        run.mirror.leased(refuse, print),
        Checkpoints(run.checkpoints, keep_last=1, keep_best=keep_best, mirror=run.mirror) as checkpoints,
    ):
        run.config.write_text('{}')
        run.mirror.push()
        run.mirror.tidy()
        yield checkpoints


def go_on(until=4):
    """Restore the latest step, take steps and save each; step 2 is the best. Return the step that it began at."""
    with opened() as checkpoints:
        restored = checkpoints.restore_latest(LIKE)
        begun = restored.step if restored else 0
        if restored:
            np.testing.assert_array_equal(restored.state['params'], state(begun)['params'])
        for step in range(begun + 1, until + 1):
            checkpoints.save(step, state(step), {'loss': abs(step - 2)})
        checkpoints.wait()
    return begun


def killed_and_continued(store, monkeypatch, tmp_path, changes):
    """Kill a run after some changes of the bucket, check the bucket, and continue elsewhere. Return False at its end"""
    store.left = changes
    with contextlib.suppress(UserError):
        go_on()
    ended, store.left = store.left > 0, float('inf')
    sealed, files = store.sealed(), set(store.files())
    for step in sealed:
        at = f'checkpoints/{step}'
        body = fsspec.filesystem('memory').cat_file(f'/bucket/run/{at}/{SEAL}').partition(b'\n')[2]
        assert {f'{at}/{name}' for name in json.loads(body)['files']} <= files
    elsewhere(monkeypatch, tmp_path / f'after_{changes}')
    assert go_on(until=5) == max(sealed, default=0)
    assert store.sealed() == [2, 5]
    steps = {name.split('/')[1] for name in store.files() if name.startswith('checkpoints/')}
    assert steps == {'2', '5'}
    assert LEASE not in store.files()
    return not ended


@pytest.mark.parametrize('changes', [1, 20, 45, 71])
def test_killed_after_a_change(store, monkeypatch, tmp_path, changes):
    assert killed_and_continued(store, monkeypatch, tmp_path, changes)


@pytest.mark.long
def test_killed_between_any_two_changes(monkeypatch, tmp_path):
    for changes in range(1, 400):
        with monkeypatch.context() as patch:
            again = store.__wrapped__(patch, tmp_path / f'{changes}')
            if not killed_and_continued(again, patch, tmp_path, changes):
                break
    assert 100 < changes < 399


def test_a_seal_is_the_last_to_come_and_the_first_to_go(store):
    go_on()
    for step in (1, 2, 3, 4):
        of_step = [change for change in store.changes if f'checkpoints/{step}/' in change[1]]
        put = [name for kind, name in of_step if kind != 'rm_file']
        removed = [name for kind, name in of_step if kind == 'rm_file']
        assert put.index(f'checkpoints/{step}/{SEAL}') == len(put) - 1
        assert bool(removed) == (step in (1, 3))
        assert not removed or removed[0].endswith(SEAL)
        assert len(removed) in (0, len(put))


def test_an_incomplete_step_is_ignored_and_removed(store, monkeypatch, tmp_path, caplog):
    go_on(until=2)
    fsspec.filesystem('memory').pipe_file('/bucket/run/checkpoints/9/params/d', b'half')
    elsewhere(monkeypatch, tmp_path / 'there')
    assert go_on(until=3) == 2
    said = f'{URL}: step 9 is incomplete, since its upload was interrupted, and is ignored'
    assert said in [record.message for record in caplog.records]
    assert not [name for name in store.files() if 'checkpoints/9' in name]


def test_a_damaged_step_is_not_used_and_is_replaced(store, monkeypatch, tmp_path):
    go_on()
    files = fsspec.filesystem('memory')
    damaged = next(name for name in store.files() if 'checkpoints/4/params/d/' in name)
    files.pipe_file(f'/bucket/run/{damaged}', b'other')
    elsewhere(monkeypatch, tmp_path / 'there')
    assert go_on() == 2
    elsewhere(monkeypatch, tmp_path / 'third')
    assert go_on() == 4


def test_only_what_is_read_is_downloaded(store, monkeypatch, tmp_path):
    go_on()
    elsewhere(monkeypatch, tmp_path / 'there')
    run = Workdir.at(URL)
    with Checkpoints(run.checkpoints, mirror=run.mirror) as checkpoints:
        best = checkpoints.restore_part('params', LIKE['params'], 'best')
    np.testing.assert_array_equal(best.state, state(2)['params'])
    files = [path.relative_to(run.checkpoints) for path in run.checkpoints.rglob('*') if path.is_file()]
    assert {file.parts[:2] for file in files} == {('2', 'params'), ('2', SEAL), ('4', SEAL)}


def test_a_run_that_was_deleted_in_the_bucket_is_none_here(store):
    go_on()
    fsspec.filesystem('memory').rm('/bucket/run', recursive=True)
    assert go_on(until=1) == 0
    assert store.sealed() == [1]


def test_something_else_in_the_bucket_is_no_run(store):
    fsspec.filesystem('memory').pipe_file('/bucket/run/letter.txt', b'Dear')
    with pytest.raises(UserError, match=rf'^{URL}: not a Saccade run; it holds letter.txt: name a new or an empty'):
        Workdir.at(URL)


def test_a_second_run_is_refused_and_a_dead_one_replaced(store, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(buckets, 'EXPIRED', 0.5)
    monkeypatch.setattr(buckets, 'RENEWED', 0.02)
    with opened():
        elsewhere(monkeypatch, tmp_path / 'there')
        with pytest.raises(UserError, match=f'^trained by process {os.getpid()} on '), opened():
            pass
        assert 'waiting     0.5 s for process' in capsys.readouterr().out
    fsspec.filesystem('memory').pipe_file(f'/bucket/run/{LEASE}', b'{"owner": "process 7 on gone", "id": "7"}')
    with opened():
        assert 'for process 7 on gone' in capsys.readouterr().out
    assert LEASE not in store.files()


def test_a_run_that_was_killed_here_is_not_waited_for(store, monkeypatch, capsys):
    monkeypatch.setattr(buckets, 'EXPIRED', 1000)
    with contextlib.suppress(UserError), opened():
        store.left = 0
    store.left = float('inf')
    assert LEASE in store.files()
    with opened():
        assert 'waiting' not in capsys.readouterr().out


def test_of_two_that_start_within_the_same_moment_the_last_trains(store, monkeypatch):
    other = b'{"owner": "process 7 on other", "id": "7"}'
    monkeypatch.setattr(time, 'sleep', lambda _: fsspec.filesystem('memory').pipe_file(f'/bucket/run/{LEASE}', other))
    with pytest.raises(UserError, match=r'^trained by process 7 on other$'), opened():
        pass
    assert fsspec.filesystem('memory').cat_file(f'/bucket/run/{LEASE}') == other


def test_a_run_that_has_lost_its_lease_writes_no_more(store):
    words = f'^{URL}: process 7 on other trains this run too, and has taken its lease; this one stops'
    other = b'{"owner": "process 7 on other", "id": "7"}'
    with pytest.raises(UserError, match=words), opened() as checkpoints, checkpoints:
        fsspec.filesystem('memory').pipe_file(f'/bucket/run/{LEASE}', other) or checkpoints.save(1, state(1))
    assert store.sealed() == []
    assert LEASE in store.files()


def test_a_reader_leaves_a_run_that_trains_here_alone(store):
    with opened() as checkpoints:
        checkpoints.save(1, state(1))
        checkpoints.wait()
        run = Workdir.at(URL)
        with locked(run.lock, refuse):
            (run.path / 'metrics.jsonl').write_text('longer than that in the bucket')
            Workdir.at(URL)
            assert run.metrics.exists()


def test_without_the_package_there_is_one_line(monkeypatch):
    from saccade import extras

    monkeypatch.setitem(sys.modules, 's3fs', None)
    monkeypatch.delitem(sys.modules['fsspec.registry']._registry, 's3', raising=False)
    monkeypatch.setattr(extras, '_is_installed', lambda name: name != 's3fs')
    with pytest.raises(UserError, match=r'^s3://bucket/run needs s3fs: pip install "saccade\[bucket\]"$'):
        Workdir.check('s3://bucket/run', config())


def test_an_unknown_kind_of_url_is_refused():
    with pytest.raises(UserError, match=r'^nothing://bucket/run: .*nothing'):
        Workdir.at('nothing://bucket/run')


@pytest.fixture(scope='module')
def uninterrupted(tmp_path_factory):
    """The folder of a run that was not in a bucket."""
    folder = tmp_path_factory.mktemp('uninterrupted') / 'run'
    train(config(), str(folder), Options(quiet=True))
    return folder


def assert_same(url, uninterrupted):
    """Check that the parameters and losses of a run equal the uninterrupted run."""
    found, expected = open_run(url), open_run(str(uninterrupted))
    assert found.step == expected.step == 8
    jax.tree.map(np.testing.assert_array_equal, found.params, expected.params)
    logs = [read(path / 'metrics.jsonl') for path in (Workdir.at(url).path, uninterrupted)]
    losses = [[(line['step'], line['split'], line['loss']) for line in log if 'loss' in line] for log in logs]
    assert losses[0] == losses[1]


@pytest.mark.long
@pytest.mark.parametrize('changes', [0, 9, 30, 55, 80, 105, 130])
def test_a_killed_run_goes_on_elsewhere_to_the_same_end(store, monkeypatch, tmp_path, uninterrupted, changes):
    store.left = changes
    with pytest.raises(UserError, match='killed'):
        train(config(), URL, Options(quiet=True))
    store.left = float('inf')
    elsewhere(monkeypatch, tmp_path / 'there')
    train(config(), URL, Options(quiet=True))
    elsewhere(monkeypatch, tmp_path / 'third')
    assert_same(URL, uninterrupted)
    assert LEASE not in store.files()


@pytest.mark.long
def test_a_run_that_starts_again_keeps_its_files_in_the_bucket(store, monkeypatch, tmp_path):
    train(config(), URL, Options(quiet=True))
    elsewhere(monkeypatch, tmp_path / 'there')
    before = [name for name in store.files() if name.startswith('checkpoints/')]
    store.changes.clear()
    train(config(), URL, Options(quiet=True, restart=True))
    kept = [store.changes.index(('pipe_file', f'before_restart/1/{name}')) for name in before]
    removed = [store.changes.index(('rm_file', name)) for name in before]
    begun = next(number for number, (_, name) in enumerate(store.changes) if name.startswith('checkpoints/2/'))
    assert max(kept) < min(removed) < max(removed) < begun
    assert store.sealed()[-1] == 8


IN_TWO = """
import json, sys
import jax, jax.numpy as jnp
from fsspec.implementations.local import LocalFileSystem
from jax.sharding import NamedSharding, PartitionSpec
from saccade.train.checkpoint import Checkpoints
from saccade.train.process.processes import require_shared
from saccade.train.workdir import Workdir

written = []
for name in ('put_file', 'pipe_file'):
    method = getattr(LocalFileSystem, name)
    target = int(name == 'put_file')
    setattr(LocalFileSystem, name, lambda files, *given, method=method, target=target, **options: (
        written.append(given[target]), method(files, *given, **options)))
rows = NamedSharding(jax.make_mesh((2,), ('data',)), PartitionSpec('data'))
like = {'params': jax.ShapeDtypeStruct((16, 3), jnp.float32, sharding=rows)}
make = jax.jit(lambda: {'params': jnp.arange(48.0).reshape(16, 3)}, out_shardings={'params': rows})
run = Workdir.at(sys.argv[1])
with Checkpoints(run.checkpoints, keep_last=1, mirror=run.mirror) as checkpoints:
    if found := checkpoints.restore_latest(like):
        assert (found.state['params'] == make()['params']).all()
    if jax.process_index() == 0:
        run.path.mkdir(parents=True, exist_ok=True)
        (run.path / '.lease').write_text('7')
        run.config.write_text('{}')
    checkpoints.save(2 if found else 1, make())
    checkpoints.wait()
print(json.dumps([found and found.step, [name.partition('checkpoints/')[2] for name in written]]))
"""


@pytest.mark.long
def test_each_process_uploads_what_it_wrote(monkeypatch, tmp_path, in_processes):
    for number, begun in ((1, None), (2, 1)):
        monkeypatch.setenv('SACCADE_CACHE', str(tmp_path / f'{number}'))
        (first, ours), (second, theirs) = in_processes(IN_TWO, f'file://{tmp_path}/store/run')
        assert (first, second) == (begun, begun)
        there = [path for path in (tmp_path / 'store/run/checkpoints').rglob('*') if path.is_file()]
        names = [path.relative_to(tmp_path / 'store/run/checkpoints').as_posix() for path in there]
        assert sorted([*filter(None, ours), *theirs]) == sorted(names)
        assert sorted(theirs) == sorted(name for name in names if 'ocdbt.process_1' in name) != []
        assert ours[-1] == f'{number}/{SEAL}'


APART = """
import os
os.environ['SACCADE_CACHE'] += str(jax.process_index())
from saccade.train.process import processes
from saccade.train.workdir import Workdir
processes._SEEN_WITHIN = 1
try:
    print(str(Workdir.at(sys.argv[1])) and '""')
except Exception as error:
    print(f'"{error}"')
"""


@pytest.mark.long
def test_processes_without_a_shared_disk_are_refused(monkeypatch, tmp_path, in_processes):
    monkeypatch.setenv('SACCADE_CACHE', str(tmp_path))
    _, said = in_processes(APART, 'memory://bucket/run')
    words = 'process 1 does not see a file that process 0 has written: name a folder on a disk that all hosts share'
    assert said.startswith('memory://bucket/run: ')
    assert said.endswith(f'{words}, by SACCADE_CACHE')


@pytest.fixture
def s3(monkeypatch, tmp_path):
    """A bucket 'runs' of an object store on the loopback, for this process and those that it starts."""
    moto = pytest.importorskip('moto.server')
    s3fs = pytest.importorskip('s3fs')
    server = moto.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name in ('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'):
        monkeypatch.setenv(name, 'testing')
    monkeypatch.setenv('AWS_DEFAULT_REGION', 'us-east-1')
    monkeypatch.setenv('AWS_ENDPOINT_URL', f'http://{host}:{port}')
    monkeypatch.setenv('AWS_EC2_METADATA_DISABLED', 'true')
    monkeypatch.setenv('AWS_CONFIG_FILE', str(tmp_path / 'none'))
    monkeypatch.setenv('AWS_SHARED_CREDENTIALS_FILE', str(tmp_path / 'none'))
    monkeypatch.setenv('SACCADE_CACHE', str(tmp_path / 'here'))
    urllib.request.urlopen(f'http://{host}:{port}/moto-api/reset', data=b'').close()  # of the server of an earlier test
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir('runs')
    yield s3fs.S3FileSystem()
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.mark.long
def test_a_bucket_that_does_not_exist_is_refused(s3):
    with pytest.raises(UserError, match=r"^s3://none/run: there is no bucket 'none'; create it first$"):
        Workdir.check('s3://none/run', config())
    Workdir.check('s3://runs/new', config())


@pytest.mark.long
def test_missing_credentials_are_one_line(s3, monkeypatch):
    monkeypatch.delenv('AWS_ACCESS_KEY_ID')
    monkeypatch.delenv('AWS_SECRET_ACCESS_KEY')
    type(s3).clear_instance_cache()
    with pytest.raises(UserError, match=r'^s3://runs/run: cannot be reached: .*credentials') as caught:
        Workdir.check('s3://runs/run', config())
    assert '\n' not in str(caught.value)


KILLED = """
import os, runpy, signal, sys
from s3fs import S3FileSystem
from saccade.train import bucket

left, bucket.EXPIRED, bucket.SETTLED = int(sys.argv.pop(1)), 0.1, 0.1

def watched(method):
    async def instead(*arguments, **options):
        global left
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return await method(*arguments, **options)
    return instead

for name in ('_put_file', '_pipe_file', '_rm_file'):
    setattr(S3FileSystem, name, watched(getattr(S3FileSystem, name)))
sys.argv[0] = 'launch/train.py'
runpy.run_path('launch/train.py', run_name='__main__')
"""


def launched(cache, changes, *arguments):
    environment = {**os.environ, 'SACCADE_CACHE': str(cache)}
    command = [sys.executable, '-c', KILLED, str(changes), *arguments]
    root = EXPERIMENTS.parent
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=240)


@pytest.mark.long
@pytest.mark.parametrize('changes', [25, 60, 110])
def test_a_killed_process_goes_on_elsewhere_from_an_object_store(s3, monkeypatch, tmp_path, uninterrupted, changes):
    given = (f'--config={tmp_path}/config.json', '--workdir=s3://runs/a')
    (tmp_path / 'config.json').write_text(json.dumps(config()))
    killed = launched(tmp_path / 'one', changes, *given)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    ended = launched(tmp_path / 'two', 10**9, *given)
    assert ended.returncode == 0, ended.stderr
    assert_same('s3://runs/a', uninterrupted)
    assert not s3.exists('runs/a/lease.json')


@pytest.mark.long
def test_the_commands_of_the_page_run(s3, tmp_path):
    page = (EXPERIMENTS.parent / 'docs' / 'guides' / 'resume.md').read_text()
    commands = [shlex.split(line) for line in page.splitlines() if '--workdir=s3://runs/a' in line]
    small = [f'--config.{field}' for field in (*FIELDS, f'data.path={EXPERIMENTS.parent / "README.md"}')]
    assert len(commands) == 4
    for number, (_, launcher, *flags) in enumerate(commands):
        environment = {**os.environ, 'SACCADE_CACHE': str(tmp_path / str(number))}
        command = [sys.executable, launcher, *flags, *(small if number == 0 else ())]
        done = subprocess.run(command, cwd=EXPERIMENTS.parent, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert s3.exists('runs/a/checkpoints/8/saccade.seal')
