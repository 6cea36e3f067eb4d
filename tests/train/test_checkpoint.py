# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: what is restored, what stays on disk, and what happens to a damaged step."""

import errno
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
import pytest
from flax import struct

from saccade.train import seal
from saccade.train.checkpoint import Checkpoints
from saccade.types import Metric, UserError


@struct.dataclass
class RunState:
    step: Any
    params: Any
    optimizer: Any
    ema: Any
    key: Any


def make_state(seed: int) -> RunState:
    key = jax.random.key(seed)
    params = {'dense': {'kernel': jax.random.normal(key, (8, 4)), 'bias': jnp.full((4,), seed, jnp.bfloat16)}}
    return RunState(jnp.int32(seed), params, optax.adam(1e-3).init(params), None, jax.random.fold_in(key, 1))


LIKE = jax.eval_shape(lambda: make_state(0))


def assert_identical(left: Any, right: Any) -> None:
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        assert a.dtype == b.dtype
        if jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def save_steps(folder: Path, *steps: int) -> None:
    with Checkpoints(folder, keep_last=9) as checkpoints:
        for step in steps:
            checkpoints.save(step, make_state(step), {'loss': float(step)}, {'rows': 100 * step})


def restored_step(folder: Path) -> int | None:
    with Checkpoints(folder) as checkpoints:
        restored = checkpoints.restore_latest(LIKE)
    if restored is None:
        return None
    assert_identical(restored.state, make_state(restored.step))
    return restored.step


def files_of(folder: Path) -> list[Path]:
    return [path.relative_to(folder) for path in sorted(folder.rglob('*')) if path.is_file()]


def flip_bit(path: Path, place: float, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[int(place * (len(data) - 1))] ^= 1 << bit
    path.write_bytes(data)


@pytest.mark.long
def test_everything_comes_back_bit_for_bit(tmp_path):
    state = make_state(3)
    with Checkpoints(tmp_path / 'run') as checkpoints:
        assert checkpoints.restore_latest(LIKE) is None
        checkpoints.save(3, state, {'loss': 1.5}, {'rows': 12, 'digest': 'ab'})
        restored = checkpoints.restore_latest(LIKE)
    assert (restored.step, restored.extra) == (3, {'rows': 12, 'digest': 'ab'})
    assert_identical(restored.state, state)
    assert jax.random.bits(restored.state.key) == jax.random.bits(state.key)


def test_the_state_may_be_overwritten_as_soon_as_save_returns(tmp_path):
    add_one = jax.jit(lambda tree: jax.tree.map(lambda leaf: leaf + 1, tree), donate_argnums=0)
    state = {'params': jnp.zeros((1000, 500)), 'host': np.zeros((1000, 500), np.float32)}
    like = jax.eval_shape(lambda: state)
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(1, state)
        state['host'] += 1
        device = {'params': state['params']}
        for _ in range(10):
            device = add_one(device)
        restored = checkpoints.restore_latest(like).state
    assert not np.any(restored['params'])
    assert not np.any(restored['host'])


@pytest.mark.parametrize(
    ('keep_last', 'keep_best', 'losses', 'stay'),
    [
        (2, 1, [3, 1, 2, 4, 5], [2, 4, 5]),
        (1, 1, [3, 2, 1], [3]),
        (2, 0, [1, 2, 3, 4], [3, 4]),
        (1, 2, [1, 2, 3, 4], [1, 2, 4]),
        (1, 1, [2, 2, 3], [2, 3]),
        (2, 1, [None, None, None, None], [3, 4]),
        (1, 1, [None, 1, None, None], [2, 4]),
        (1, 1, [1, float('nan'), float('nan')], [1, 3]),
    ],
)
def test_the_latest_and_the_best_stay(tmp_path, keep_last, keep_best, losses, stay):
    state = {'params': jnp.zeros(2)}
    for step, loss in enumerate(losses, start=1):
        with Checkpoints(tmp_path, keep_last, keep_best) as checkpoints:
            checkpoints.save(step, state, None if loss is None else {'loss': loss})
    assert checkpoints.steps() == stay
    assert sorted(path.name for path in tmp_path.iterdir()) == [str(step) for step in stay]


@pytest.mark.parametrize(('best', 'stay'), [('highest', [2, 4]), ('lowest', [1, 4])])
def test_the_best_go_by_the_metric_that_is_named_and_by_its_own_end(tmp_path, best, stay):
    with Checkpoints(tmp_path, keep_last=1, best_by=Metric('mrr', best)) as checkpoints:
        for step, (loss, mrr) in enumerate([(4, 0.1), (3, 0.9), (2, 0.5), (5, 0.2)], start=1):
            checkpoints.save(step, {'params': jnp.full(2, step)}, {'loss': loss, 'mrr': mrr})
    assert checkpoints.steps() == stay
    with Checkpoints(tmp_path, best_by=Metric('mrr', best)) as checkpoints:
        assert checkpoints.restore_part('params', jnp.zeros(2, int), 'best').step == stay[0]


def test_nothing_would_stay():
    with pytest.raises(UserError, match='keep_last must be at least 1, not 0'):
        Checkpoints(Path('unused'), keep_last=0)


def test_the_best_and_a_named_step_and_the_parameters_alone(tmp_path):
    with Checkpoints(tmp_path) as checkpoints:
        for step, loss in ((1, 5.0), (2, 3.0), (3, 4.0)):
            checkpoints.save(step, make_state(step), {'loss': loss})
        assert checkpoints.restore_part('params', LIKE.params, 'best').step == 2
        assert_identical(checkpoints.restore(3, LIKE).state, make_state(3))
        for which, step in (('latest', 3), ('best', 2), (3, 3)):
            part = checkpoints.restore_part('params', LIKE.params, which)
            assert part.step == step
            assert_identical(part.state, make_state(step).params)
        with pytest.raises(UserError, match=r'1: no usable checkpoint; usable may be \[2, 3\]'):
            checkpoints.restore(1, LIKE)


def test_another_state_is_refused_naming_the_leaf(tmp_path):
    save_steps(tmp_path, 1)
    wide = LIKE.replace(params={'dense': {**LIKE.params['dense'], 'kernel': jax.ShapeDtypeStruct((8, 5), 'float32')}})
    with Checkpoints(tmp_path) as checkpoints:
        with pytest.raises(UserError, match=r"'float32\[8, 4\]' in the folder, 'float32\[8, 5\]'"):
            checkpoints.restore_latest(wide)
        with pytest.raises(UserError, match=r'ema\.dense\.bias: absent in the folder'):
            checkpoints.restore_part('ema', LIKE.params)
        with pytest.raises(UserError, match=r"params\.dense.bias: 'bfloat16\[4\]' in the folder, absent requested"):
            checkpoints.restore_part('params', {'dense': {'kernel': LIKE.params['dense']['kernel']}})


@pytest.mark.long
def test_one_flipped_bit_in_any_file_is_found(tmp_path, caplog):
    save_steps(tmp_path / 'whole', 1, 2)
    names = files_of(tmp_path / 'whole' / '2')
    assert len(names) > 5
    for number, name in enumerate(names):
        run = tmp_path / f'run{number}'
        shutil.copytree(tmp_path / 'whole', run)
        flip_bit(run / '2' / name, place=number / len(names), bit=number % 8)
        caplog.clear()
        assert restored_step(run) == 1, name
        [record] = caplog.records
        assert record.levelno == logging.WARNING
        assert f'{name} is damaged; moved to damaged/; step 1 is used instead' in record.getMessage()
        assert files_of(run / 'damaged' / '2') == names


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.long
@pytest.mark.parametrize('spoil', [cut_short, Path.unlink])
def test_any_file_cut_short_or_missing_is_found(tmp_path, spoil):
    save_steps(tmp_path / 'whole', 1, 2)
    for number, name in enumerate(files_of(tmp_path / 'whole' / '2')):
        run = tmp_path / f'run{number}'
        shutil.copytree(tmp_path / 'whole', run)
        spoil(run / '2' / name)
        assert restored_step(run) == 1, name


@pytest.mark.long
def test_a_damaged_step_does_not_get_in_the_way_of_later_saves(tmp_path):
    save_steps(tmp_path, 2, 4, 6)
    (tmp_path / '6' / 'saccade.seal').unlink()
    flip_bit(tmp_path / '4' / 'params/manifest.ocdbt', 0.5, 0)
    with Checkpoints(tmp_path) as checkpoints:
        assert checkpoints.restore_latest(LIKE).step == 2
        for step in (3, 4):
            checkpoints.save(step, make_state(step))
        assert checkpoints.restore_latest(LIKE).step == 4
    assert restored_step(tmp_path) == 4
    assert sorted(path.name for path in (tmp_path / 'damaged').iterdir()) == ['4', '6']
    flip_bit(tmp_path / '4' / 'params/manifest.ocdbt', 0.5, 0)
    assert restored_step(tmp_path) == 3
    assert sorted(path.name for path in (tmp_path / 'damaged').iterdir()) == ['4', '4.2', '6']


def test_nothing_is_left_when_all_is_damaged(tmp_path, caplog):
    save_steps(tmp_path, 1, 2)
    for step in (1, 2):
        cut_short(tmp_path / str(step) / 'saccade.seal')
    assert restored_step(tmp_path) is None
    assert [record.getMessage().rpartition('; ')[2] for record in caplog.records] == ['no other can be used'] * 2


def test_reading_for_evaluation_goes_round_damage_and_moves_nothing(tmp_path, caplog):
    save_steps(tmp_path, 1, 2, 3)
    flip_bit(tmp_path / '3' / 'params/_METADATA', 0.5, 1)
    flip_bit(tmp_path / '1' / 'params/_METADATA', 0.5, 1)
    with Checkpoints(tmp_path) as checkpoints:
        assert checkpoints.restore_part('params', LIKE.params).step == 2
        assert checkpoints.restore_part('params', LIKE.params, 'best').step == 2
        with pytest.raises(UserError, match='3: no usable checkpoint'):
            checkpoints.restore(3, LIKE)
        with pytest.raises(UserError, match=r'no usable checkpoint \(3\)'):
            checkpoints.restore_part('params', LIKE.params, 3)
    assert '_METADATA is damaged; step 2 is used instead' in caplog.messages[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ['1', '2', '3']


def rename(folder: Path) -> None:
    (folder / '2').rename(folder / '4')


def copy(folder: Path) -> None:
    shutil.copytree(folder / '2', folder / '4')


def swap(folder: Path) -> None:
    (folder / '2').rename(folder / 'x')
    (folder / '3').rename(folder / '2')
    (folder / 'x').rename(folder / '3')


@pytest.mark.parametrize(
    ('spoil', 'step', 'wrong'), [(rename, 3, {'4': 2}), (copy, 3, {'4': 2}), (swap, 1, {'2': 3, '3': 2})]
)
def test_a_step_that_was_renamed_copied_or_swapped_is_set_aside(tmp_path, caplog, spoil, step, wrong):
    save_steps(tmp_path, 1, 2, 3)
    spoil(tmp_path)
    with Checkpoints(tmp_path) as checkpoints:
        assert not {int(name) for name in wrong} & {*checkpoints.steps()}
        assert checkpoints.restore_part('params', LIKE.params).step == step
    caplog.clear()
    assert restored_step(tmp_path) == step
    assert sorted(caplog.messages) == [
        f'checkpoint {tmp_path / name}: saccade.seal is of step {sealed}, so the folder was renamed or copied; '
        f'moved to damaged/; step {step} is used instead'
        for name, sealed in sorted(wrong.items())
    ]
    assert {path.name for path in (tmp_path / 'damaged').iterdir()} == wrong.keys()


def reseal(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the fields of a seal, and write it with the digest that it then has."""
    _, _, body = (folder / 'saccade.seal').read_bytes().partition(b'\n')
    about = json.loads(body)
    change(about)
    seal.write_seal(folder, about, about.pop('files'))


@pytest.mark.parametrize(
    ('field', 'words'), [({'shards': 7}, "it has the field 'shards'"), ({'format': 2}, 'it has format 2, and')]
)
def test_a_seal_with_an_unknown_field_or_format_is_of_a_newer_version_and_stays(tmp_path, field, words):
    save_steps(tmp_path, 1, 2)
    reseal(tmp_path / '2', lambda about: about.update(field))
    with Checkpoints(tmp_path) as checkpoints:
        for use in (checkpoints.steps, lambda: checkpoints.restore_latest(LIKE), lambda: checkpoints.restore(2, LIKE)):
            with pytest.raises(UserError, match=rf'2/saccade\.seal: written by a newer version of Saccade: {words}'):
                use()
    assert sorted(path.name for path in tmp_path.iterdir()) == ['1', '2']


@pytest.mark.parametrize('field', ['step', 'metrics'])
def test_a_seal_without_a_field_is_of_a_development_version_and_stays(tmp_path, field):
    save_steps(tmp_path, 1, 2)
    reseal(tmp_path / '2', lambda about: about.pop(field))
    words = rf"2/saccade\.seal: written by a development version of Saccade: it has no '{field}'; train again$"
    with Checkpoints(tmp_path) as checkpoints:
        for use in (checkpoints.steps, lambda: checkpoints.restore_latest(LIKE), lambda: checkpoints.restore(2, LIKE)):
            with pytest.raises(UserError, match=words):
                use()
    assert sorted(path.name for path in tmp_path.iterdir()) == ['1', '2']


def test_a_pipe_in_place_of_a_seal_is_damage(tmp_path, caplog):
    save_steps(tmp_path, 1, 2)
    (tmp_path / '2/saccade.seal').unlink()
    os.mkfifo(tmp_path / '2/saccade.seal')
    assert restored_step(tmp_path) == 1
    assert 'saccade.seal cannot be read (it is not a regular file)' in caplog.messages[0]


def test_a_file_in_place_of_a_step_is_set_aside(tmp_path):
    save_steps(tmp_path, 1)
    (tmp_path / '2').write_text('no step')
    assert restored_step(tmp_path) == 1
    assert (tmp_path / 'damaged/2').read_text() == 'no step'
    (tmp_path / '3').write_text('no step')
    save_steps(tmp_path, 3)
    assert restored_step(tmp_path) == 3


def test_what_was_saved_leaves_traces(tmp_path):
    with Checkpoints(tmp_path) as checkpoints:
        assert not checkpoints.any_traces()
        (tmp_path / '1.saving').mkdir(parents=True)
        assert not checkpoints.any_traces()
    save_steps(tmp_path, 1)
    (tmp_path / '1/saccade.seal').unlink()
    with Checkpoints(tmp_path) as checkpoints:
        assert checkpoints.any_traces()
        assert checkpoints.restore_latest(LIKE) is None
        assert checkpoints.any_traces()


@pytest.mark.long
def test_what_is_not_read_may_be_damaged(tmp_path):
    """The parameters are read without the optimizer, and a run goes on with both."""
    save_steps(tmp_path / 'whole', 1, 2)
    for number, name in enumerate(files_of(tmp_path / 'whole' / '2')):
        run = tmp_path / f'run{number}'
        shutil.copytree(tmp_path / 'whole', run)
        flip_bit(run / '2' / name, place=0.5, bit=number % 8)
        with Checkpoints(run) as checkpoints:
            restored = checkpoints.restore_part('params', LIKE.params)
        assert_identical(restored.state, make_state(restored.step).params)
        assert restored.step == (1 if name.parts[0] in ('params', 'saccade.seal') else 2), name
        assert restored_step(run) == 1, name


def test_a_file_is_read_for_its_digest_when_it_was_written_and_before_it_is_restored(tmp_path, monkeypatch):
    read, digest = [], seal.file_digest
    monkeypatch.setattr(seal, 'file_digest', lambda path: read.append(path) or digest(path))
    save_steps(tmp_path, 1)
    names = [name for name in files_of(tmp_path / '1') if name.name != 'saccade.seal']
    assert sorted(read) == [tmp_path / '1.saving' / name for name in names]
    files = [tmp_path / '1' / name for name in names]
    read.clear()
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.restore_part('params', LIKE.params)
    assert sorted(read) == [path for path in files if path.is_relative_to(tmp_path / '1/params')]
    read.clear()
    assert restored_step(tmp_path) == 1
    assert sorted(read) == files


def test_an_abandoned_future_is_set_aside(tmp_path):
    save_steps(tmp_path, 1, 2, 3)
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.restore(1, LIKE)
        checkpoints.save(1, make_state(1))
        assert checkpoints.steps() == [1, 2, 3]
        checkpoints.save(2, make_state(2).replace(step=jnp.int32(77)))
    with Checkpoints(tmp_path) as checkpoints:
        assert checkpoints.restore_latest(LIKE).state.step == 77
    assert sorted(path.name for path in (tmp_path / 'superseded').iterdir()) == ['2', '3']


def test_leftovers_of_a_killed_save_are_not_used_and_go(tmp_path):
    save_steps(tmp_path, 1)
    shutil.copytree(tmp_path / '1', tmp_path / '2.orbax-checkpoint-tmp')
    shutil.copytree(tmp_path / '1', tmp_path / '0.deleted')
    with Checkpoints(tmp_path) as checkpoints:
        assert checkpoints.restore_latest(LIKE).step == 1
        checkpoints.save(2, make_state(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ['1', '2']


@pytest.mark.parametrize('linked', [False, True])
def test_a_save_deletes_nothing_of_the_users(tmp_path, linked):
    folder, place = tmp_path / 'checkpoints', tmp_path / 'scratch'
    place.mkdir()
    folder.symlink_to(place) if linked else place.rename(folder)
    names = ['3.best', '1.5', '2024.backup', '01.deleted', '1.saving.old', '3.deleted.keep', 'best.saving']
    for name in names:
        (folder / name).mkdir()
        (folder / name / 'letter.txt').write_text('Dear')
    (folder / '7.saving').symlink_to(folder / '3.best')  # named like ours, and not made by us
    save_steps(folder, 0)
    (folder / '0').rename(tmp_path / 'elsewhere')
    (folder / '0').symlink_to(tmp_path / 'elsewhere')
    with Checkpoints(folder, keep_last=1, keep_best=0) as checkpoints:
        for step in (1, 2):
            checkpoints.save(step, make_state(step))
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, '0', '2', '7.saving'])
    assert all((folder / name / 'letter.txt').read_text() == 'Dear' for name in names)
    assert any((tmp_path / 'elsewhere').iterdir())


def full_disk(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def save_and_wait(checkpoints: Checkpoints, step: int) -> None:
    checkpoints.save(step, make_state(step))
    checkpoints.wait()


@pytest.mark.parametrize('place', ['Orbax starts', 'the seal'])
def test_a_full_disk_is_one_line_and_costs_no_checkpoint(tmp_path, monkeypatch, place):
    target, name = {
        'Orbax starts': (ocp.AsyncCheckpointer, 'save'),
        'the seal': (seal, 'write_atomically'),
    }[place]
    save_steps(tmp_path, 1)
    with Checkpoints(tmp_path, keep_last=1) as checkpoints:
        with monkeypatch.context() as patched:
            patched.setattr(target, name, full_disk)
            with pytest.raises(UserError, match=r'the disk is full: writing at least 4\d\d bytes failed; [\d,]+ bytes'):
                save_and_wait(checkpoints, 2)
        assert checkpoints.restore_latest(LIKE).step == 1
        checkpoints.save(2, make_state(2))
    assert restored_step(tmp_path) == 2


def test_what_ended_the_run_is_not_hidden_by_a_full_disk(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(seal, 'write_atomically', full_disk)

    def run():
        with Checkpoints(tmp_path) as checkpoints:
            checkpoints.save(1, make_state(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    assert 'the disk is full' in caplog.text


@contextmanager
def tiny_disk(folder: Path, size: str):
    folder.mkdir()
    command = ['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tmpfs', str(folder)]
    if shutil.which('mount') is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip('a small disk cannot be mounted here')
    try:
        yield
    finally:
        subprocess.run(['umount', '-l', str(folder)], check=True)


def test_a_disk_that_is_really_full(tmp_path, caplog):
    with tiny_disk(tmp_path / 'disk', '1m'):
        folder = tmp_path / 'disk' / 'checkpoints'
        save_steps(folder, 1)
        large = {'params': jax.random.normal(jax.random.key(0), (800, 500))}
        with Checkpoints(folder) as checkpoints:
            checkpoints.save(2, large)
            with pytest.raises(
                UserError, match=rf'^{folder}: the disk is full: writing at least 1,600,000 bytes failed; \d{{3}},'
            ):
                checkpoints.save(3, large)
            assert [path.name for path in folder.iterdir()] == ['1']
        assert restored_step(folder) == 1
        with (tmp_path / 'disk' / 'junk').open('wb', buffering=0) as junk:
            while junk.write(bytes(4096)) == 4096:
                if shutil.disk_usage(folder).free < 8192:
                    break
        with pytest.raises(UserError, match='the disk is full'), Checkpoints(folder) as checkpoints:
            checkpoints.save(2, make_state(2))
        assert restored_step(folder) == 1
    assert not caplog.records


def run_python(code: str, *arguments: Any, devices: int = 1) -> subprocess.CompletedProcess:
    environment = {
        **os.environ,
        'JAX_PLATFORMS': 'cpu',
        'XLA_FLAGS': f'--xla_force_host_platform_device_count={devices}',
        'PYTHONPATH': os.pathsep.join(sys.path),
    }
    command = [sys.executable, '-W', 'error', '-c', code, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


ON_EIGHT = """
import sys
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec
from saccade.train.checkpoint import Checkpoints

mesh = jax.make_mesh((8,), ('data',))
rows, whole = NamedSharding(mesh, PartitionSpec('data')), NamedSharding(mesh, PartitionSpec())
like = {
    'params': jax.ShapeDtypeStruct((16, 3), jnp.float32, sharding=rows),
    'key': jax.ShapeDtypeStruct((), jax.random.key(0).dtype, sharding=whole),
}
with Checkpoints(sys.argv[1]) as checkpoints:
    state = checkpoints.restore_latest(like).state
    assert state['params'].sharding == rows, state['params'].sharding
    assert len(state['key'].sharding.device_set) == 8
    checkpoints.save(2, jax.jit(lambda tree: {**tree, 'params': tree['params'] + 1})(state))
"""


@pytest.mark.long
def test_one_device_to_eight_and_back_in_silence(tmp_path):
    state = {'params': jnp.arange(48.0).reshape(16, 3), 'key': jax.random.key(5)}
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(1, state)
    ran = run_python(ON_EIGHT, tmp_path, devices=8)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, '', '')
    with Checkpoints(tmp_path) as checkpoints:
        restored = checkpoints.restore_latest(jax.eval_shape(lambda: state))
    assert restored.step == 2
    assert_identical(restored.state, {**state, 'params': state['params'] + 1})


IN_TWO = """
import json, sys
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec
from saccade.train import checkpoint, seal

read, digest = [], seal.file_digest
seal.file_digest = lambda path: read.append(str(path)) or digest(path)
mesh = jax.make_mesh((2,), ('data',))
rows = NamedSharding(mesh, PartitionSpec('data'))
like = {'params': jax.ShapeDtypeStruct((16, 3), jnp.float32, sharding=rows)}
make = jax.jit(lambda: {'params': jnp.arange(48.0).reshape(16, 3)}, out_shardings={'params': rows})
with checkpoint.Checkpoints(sys.argv[1], keep_last=1) as checkpoints:
    checkpoints.save(1, make())
    checkpoints.save(2, make())
    checkpoints.wait()
    written, read[:] = list(read), []
    assert (checkpoints.restore_latest(like).state['params'] == make()['params']).all()
print(json.dumps([written, read]))
"""


@pytest.mark.long
def test_each_process_reads_what_it_wrote(tmp_path, in_processes):
    (first, verified), (second, nothing) = in_processes(IN_TWO, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ['2']
    files = sorted(str(tmp_path / '2' / name) for name in files_of(tmp_path / '2') if name.name != 'saccade.seal')
    saving = [[name for name in written if f'{tmp_path}/2.saving/' in name] for written in (first, second)]
    of_last = [[name.replace('2.saving', '2') for name in written] for written in saving]
    assert sorted([*of_last[0], *of_last[1]]) == files
    assert of_last[1] == [name for name in files if 'ocdbt.process_1' in name] != []
    assert (sorted(verified), nothing) == (files, [])
    flip_bit(Path(of_last[1][0]), 0.5, 3)
    with Checkpoints(tmp_path) as checkpoints:
        assert checkpoints.restore_latest({'params': jax.ShapeDtypeStruct((16, 3), jnp.float32)}) is None


KILLED = """
import os, signal, sys
import jax.numpy as jnp
from saccade.train import checkpoint

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

checkpoints = checkpoint.Checkpoints(sys.argv[1], keep_last=1, keep_best=0)
checkpoints.save(1, {'params': jnp.full(4, 1.0)})
checkpoints.wait()
exec(sys.argv[2])
checkpoints.save(2, {'params': jnp.full(4, 2.0)})
checkpoints.wait()
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ('moment', 'step'),
    [('checkpoint.write_seal = kill', 1), ('checkpoint.shutil.rmtree = kill', 2)],
    ids=['before the seal', 'while the old step goes'],
)
def test_a_kill_leaves_a_state_that_restores(tmp_path, moment, step):
    assert run_python(KILLED, tmp_path, moment).returncode == -signal.SIGKILL
    like = {'params': jax.ShapeDtypeStruct((4,), jnp.float32)}
    with Checkpoints(tmp_path, keep_last=1, keep_best=0) as checkpoints:
        restored = checkpoints.restore_latest(like)
        assert restored.step == step
        assert np.all(restored.state['params'] == step)
        checkpoints.save(3, restored.state)
    assert {path.name for path in tmp_path.iterdir()} - {'damaged'} == {'3'}
