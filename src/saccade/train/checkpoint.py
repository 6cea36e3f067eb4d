# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: written by Orbax in the background, then sealed; a checkpoint that differs from its seal is not used.

Orbax detects short or missing files, but restores a flipped bit without an error. So once Orbax has committed a step
under a temporary name, the step and the digest of each file are written to a seal in its folder, the folder is renamed
to the step, and only then are older steps deleted. (Orbax's manager would delete them before anything can be done after
the commit, and ignores the save of a step older than one that it knows; hence its checkpointer, and the retention
here.) After a kill, a step is either sealed or absent. So a step without a seal has lost it, and a folder whose name is
not its seal's step was renamed or copied: both count as damaged.

A file is read for its digest by the process that wrote it, and again only before what is in it is restored: so the
parameters, and their average, have files of their own.

The folder holds one folder per step; `damaged/`, with steps that could not be used; and `superseded/`, with steps that
were abandoned when an earlier step was restored.
"""

import dataclasses
import hashlib
import itertools
import json
import logging
import math
import re
import shutil
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, SupportsFloat

import jax
import numpy as np
from jax.experimental import multihost_utils
from jaxtyping import PyTree

from saccade.paths import read_regular
from saccade.train.bucket import NOWHERE, SEAL, Mirror
from saccade.train.format import numbered, without_number
from saccade.train.workdir import differ, sync_folder, write_atomically, writing
from saccade.types import Metric, UserError

_SEALED_WITHIN = 3600  # seconds in which each process must have read what it wrote
_ALONE = ('params', 'ema')  # fields of the state that are restored without the others
_REST = 'rest'
_LOSS = Metric('loss', 'lowest')
_SHELVES = ('damaged', 'superseded')
# What remains after a kill during a save, by this class or by Orbax, or during a deletion.
_LEFTOVER = re.compile(r'(0|[1-9][0-9]*)\.(deleted|saving|(saving\.)?orbax-checkpoint-tmp(-[0-9]+)?)')
_SHOWN = 4
_log = logging.getLogger(__name__)
_Files = dict[str, Sequence[int | str]]  # bytes and digest by path within a step
_saves = itertools.count()  # every process makes the same saves, so their counts agree


@dataclass(frozen=True)
class Restored:
    """Restored checkpoint: the step, the state or the requested part of it, and `extra`."""

    step: int
    state: PyTree
    extra: Mapping[str, Any]


class Checkpoints:
    """Checkpoints of one run. Every process of the run makes one and calls it with the same arguments."""

    def __init__(
        self,
        folder: Path,
        keep_last: int = 2,
        keep_best: int = 1,
        best_by: Metric = _LOSS,
        mirror: Mirror = NOWHERE,
    ) -> None:
        """Set the folder, which the first save creates.

        Args:
            folder: one that all processes share.
            keep_last: number of the latest steps to keep.
            keep_best: number of the best steps to keep as well.
            best_by: metric that ranks the steps.
            mirror: where the steps are copied to, and fetched from.

        Raises:
            UserError: not even the latest step would be kept.
        """
        if keep_last < 1 or keep_best < 0:
            raise UserError(f'keep_last must be at least 1, not {keep_last}; keep_best at least 0, not {keep_best}')
        import orbax.checkpoint  # noqa: F401, for it takes a second, and saving must not: it is measured as training

        self._folder = Path(folder).resolve()  # it may be a link to a larger disk
        self._keep_last, self._keep_best, self._best_by = keep_last, keep_best, best_by
        self._mirror = mirror
        self._background = ThreadPoolExecutor(max_workers=1, thread_name_prefix='checkpoint')
        self._pending: _Pending | None = None
        self._current: int | None = None
        _silence_orbax()

    def __enter__(self) -> 'Checkpoints':
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        try:
            self.close()
        except UserError as error:
            if kind is None:
                raise
            _log.warning('%s', error)  # the error that ended the run matters more

    def save(
        self,
        step: int,
        state: PyTree,
        metrics: Mapping[str, SupportsFloat] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Start saving, and return as soon as the state may be overwritten.

        The step that was saved or restored last is not saved again. Steps on disk that are not older than this one were
        abandoned and are set aside.

        Args:
            step: number of steps taken.
            state: arrays and typed keys; None for an empty field.
            metrics: of the evaluation; a step without the metric of `best_by` never counts as one of the best.
            extra: small data that JSON can hold.

        Raises:
            UserError: the disk is full or cannot be written to, now or since the last save.
        """
        import orbax.checkpoint as ocp

        self.wait()
        if step == self._current:
            return
        folder = self._folder / f'{step}.saving'
        arrays = jax.tree.map(as_raw, state)
        values = {name: float(value) for name, value in (metrics or {}).items()}
        about = json.loads(json.dumps({'step': step, 'metrics': values, 'extra': dict(extra or {})}))
        size = sum(array.nbytes for array in jax.tree.leaves(arrays))
        with self._writing(size):
            self._make_way(step)
            writer = ocp.AsyncCheckpointer(ocp.CompositeCheckpointHandler())
            stores = {name: ocp.args.PyTreeSave(fields) for name, fields in _stores(_fields(arrays)).items()}
            writer.save(folder, args=ocp.args.Composite(**stores))
        self._pending = _Pending(step, size, self._background.submit(self._finish, writer, folder, about))

    def add_metrics(self, step: int, metrics: Mapping[str, SupportsFloat], extra: Mapping[str, Any]) -> None:
        """Add results that were measured after the save of a step to its seal, then delete steps that need not stay.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        self.wait()
        if jax.process_index() == 0:
            seal = _read_seal(self._at(step))
            values = {name: float(value) for name, value in metrics.items()}
            about = {'step': step, 'metrics': {**seal.metrics, **values}, 'extra': {**seal.extra, **extra}}
            write_seal(self._at(step), about, seal.files)
            self._mirror.commit(self._at(step))
            self._retire()

    def wait(self) -> None:
        """Block until the saved step is sealed on disk.

        Raises:
            UserError: the disk is full or cannot be written to; earlier checkpoints are untouched.
        """
        if self._pending is None:
            return
        pending, self._pending = self._pending, None
        with self._writing(pending.size):
            pending.done.result()
        self._current = pending.step

    def close(self) -> None:
        """Wait for the save, and end the background thread.

        Raises:
            UserError: as in `wait`.
        """
        try:
            self.wait()
        finally:
            self._background.shutdown()

    def steps(self) -> list[int]:
        """Return the sealed steps in order, without verifying their files."""
        return sorted(self._seals())

    def restore_latest(self, like: PyTree) -> Restored | None:
        """Restore the latest step that agrees with its seal, to continue from it; damaged steps are set aside.

        Args:
            like: shapes and dtypes of the state; a leaf without a sharding goes to the first local device.

        Returns:
            The checkpoint; None if no step can be used.

        Raises:
            UserError: the checkpoint holds a state of another structure than `like`.
        """
        return self._restore(self._set_damaged_aside, like)

    def restore(self, step: int, like: PyTree) -> Restored:
        """Restore one step.

        Raises:
            UserError: the step does not exist, is damaged, or holds a state of another structure than `like`.
        """
        restored = self._restore(partial(self._first_sound, self._order(step)), like)
        if restored is None:
            raise UserError(f'{self._at(step)}: no usable checkpoint; usable may be {self.steps() or "none"}')
        return restored

    def any_traces(self) -> bool:
        """Return True if a step was ever sealed here, even if none is usable now."""
        shelves = (self._folder / shelf for shelf in _SHELVES)
        return bool(self._present()) or any(any(shelf.iterdir()) for shelf in shelves if shelf.is_dir())

    def restore_part(self, name: str, like: PyTree, which: Literal['latest', 'best'] | int = 'latest') -> Restored:
        """Restore one field of the state, such as 'params'; the others need not be known or intact.

        Nothing is moved on disk, so the run may be in progress. If the latest or the best is damaged, the next one in
        that order is used.

        Raises:
            UserError: there is no usable checkpoint, or it holds nothing like `like` under this name.
        """
        self.wait()
        step = _agreed(lambda: self._first_sound(self._order(which), field=name))
        if step is None:
            raise UserError(f'{self._folder}: no usable checkpoint ({which})')
        part = _read(self._at(step), {name: like}, part=True)[name]
        return Restored(step, part, _read_seal(self._at(step)).extra)

    def _restore(self, find: Callable[[], int | None], like: PyTree) -> Restored | None:
        self.wait()
        step = _agreed(find)
        if step is None:
            return None
        state = _read(self._at(step), like)
        self._current = step
        return Restored(step, state, _read_seal(self._at(step)).extra)

    def _order(self, which: Literal['latest', 'best'] | int) -> Sequence[int]:
        """Return the steps to try, in order."""
        if which == 'best':
            return self._best()
        steps = sorted(self._present(), reverse=True)
        return steps if which == 'latest' else [step for step in steps if step == which]

    def _first_sound(self, steps: Iterable[int], fate: str = '', field: str | None = None) -> int | None:
        """Return the first step that agrees with its seal, wholly or in a field; log the damage of those before it."""
        complaints: dict[int, str] = {}
        for step in steps:
            complaint = _complaint(self._at(step), field, self._mirror)
            if complaint is None:
                break
            complaints[step] = complaint
        else:
            step = None
        instead = 'no other can be used' if step is None else f'step {step} is used instead'
        for damaged, complaint in complaints.items():
            _log.warning('checkpoint %s: %s; %s%s', self._at(damaged), complaint, fate, instead)
        return step

    def _set_damaged_aside(self) -> int | None:
        step = self._first_sound(self._order('latest'), fate='moved to damaged/; ')
        with writing(self._folder):
            for damaged in self._present():
                if step is None or damaged > step:
                    self._set_aside(damaged, 'damaged')
        return step

    def _set_aside(self, step: int, shelf: str) -> None:
        (self._folder / shelf).mkdir(exist_ok=True)
        names = itertools.chain([f'{step}'], (f'{step}.{number}' for number in itertools.count(2)))
        free = next(path for name in names if not (path := self._folder / shelf / name).exists())
        self._at(step).rename(free)

    def _make_way(self, step: int) -> None:
        """Move aside what is at the place of a new step, and steps that are later than it."""
        if jax.process_index() != 0:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        self._sweep()
        for present in self._present():
            if present >= step:
                self._set_aside(present, 'superseded')
        self._mirror.tidy()

    def _finish(self, writer: 'orbax.checkpoint.AsyncCheckpointer', folder: Path, about: Mapping[str, Any]) -> None:
        """Wait in the background for Orbax's commit, seal the step, rename it, and delete steps that need not stay.

        Each process copies the files that it wrote to the mirror; process 0 when the step is sealed, and then its seal.
        """
        with closing(writer):
            writer.wait_until_finished()
        step = about['step']
        own, others = _digests_together(folder, partial(self._mirror.upload, folder, step))
        if jax.process_index() == 0:
            write_seal(folder, about, others | own)
            folder.rename(self._at(step))
            sync_folder(self._folder)
            self._mirror.upload(self._at(step), step, own)
            self._mirror.commit(self._at(step))
            self._retire()

    def _retire(self) -> None:
        steps = self.steps()
        staying = {*steps[-self._keep_last :], *self._best()[: self._keep_best]}
        for step in set(steps) - staying:
            if not self._at(step).is_symlink():  # its target is the user's
                shutil.rmtree(self._at(step).rename(self._folder / f'{step}.deleted'))
        self._mirror.tidy()

    def _sweep(self) -> None:
        for entry in self._folder.iterdir():
            if _LEFTOVER.fullmatch(entry.name) and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)

    @contextmanager
    def _writing(self, size: int) -> Iterator[None]:
        """Handle a full disk: delete the incomplete save, and report the space that is needed."""
        with writing(self._folder, size):
            try:
                yield
            except Exception:
                if jax.process_index() == 0:
                    self._sweep()
                raise

    def _at(self, step: int) -> Path:
        return self._folder / str(step)

    def _present(self) -> list[int]:
        """Return the steps whose folders are here, usable or not."""
        names = [entry.name for entry in self._folder.iterdir()] if self._folder.is_dir() else []
        return [int(name) for name in names if name.isdecimal() and name == str(int(name))]

    def _seals(self) -> dict[int, '_Seal']:
        seals = {}
        for step in self._present():
            try:
                seals[step] = _read_seal(self._at(step))
            except _DamagedError:
                continue
        return seals

    def _best(self) -> list[int]:
        """Return the sealed steps with a finite metric, the best first; among equals the latest first."""
        sign = -1 if self._best_by.best == 'highest' else 1
        values = {step: seal.metrics.get(self._best_by.name, math.nan) for step, seal in self._seals().items()}
        finite = [step for step, value in values.items() if math.isfinite(value)]
        return sorted(finite, key=lambda step: (sign * values[step], -step))


@dataclass(frozen=True)
class _Pending:
    """A save of `size` bytes under way."""

    step: int
    size: int
    done: Future


@dataclass(frozen=True)
class _Seal:
    """Record of a step without its arrays. `files` has bytes and digest by path within the step."""

    step: int
    metrics: Mapping[str, float]
    extra: Mapping[str, Any]
    files: Mapping[str, Sequence[int | str]]

    @property
    def stores(self) -> list[str]:
        """Folders within the step that hold arrays."""
        return sorted({name.partition('/')[0] for name in self.files if '/' in name})

    def files_of(self, field: str | None) -> Mapping[str, Sequence[int | str]]:
        """The files that a field is read from; of the whole state if it is None."""
        if field is None:
            return self.files
        return {name: file for name, file in self.files.items() if name.startswith(f'{_store_of(field)}/')}


class _DamagedError(Exception):
    """Error of a step, or of a file in it, that differs from its seal."""


def _digests_together(folder: Path, upload: Callable[[Iterable[str]], None]) -> tuple[_Files, _Files]:
    """Return bytes and digest of the files of a committed step: the process's own, and, on process 0, the others'.

    Each process reads the files that it wrote, and hands the digests over to process 0 in the step's folder.

    Args:
        upload: called with the paths of the process's own files before it hands them over, except on process 0.
    """
    import orbax.checkpoint as ocp

    process, found = jax.process_index(), {}
    if process:
        own = _digests(folder, lambda path: f'ocdbt.process_{process}' in path.parts)
        upload(own)
        write_atomically(folder / f'{SEAL}.{process}', json.dumps(own))
    ocp.multihost.get_barrier_sync_fn()(key=f'{SEAL}.{next(_saves)}', timeout_ms=1000 * _SEALED_WITHIN)
    if process:
        return own, found
    for other in range(1, jax.process_count()):
        handed = folder / f'{SEAL}.{other}'
        found |= json.loads(handed.read_text())
        handed.unlink()
    return _digests(folder, lambda path: path.as_posix() not in found), found


def _digests(folder: Path, wanted: Callable[[Path], bool]) -> _Files:
    """Return bytes and digest of the files of a step whose path within it is wanted."""
    paths = [path.relative_to(folder) for path in sorted(folder.rglob('*')) if path.is_file()]
    return {
        path.as_posix(): ((folder / path).stat().st_size, file_digest(folder / path)) for path in paths if wanted(path)
    }


def write_seal(folder: Path, about: Mapping[str, Any], files: Mapping[str, Sequence[int | str]]) -> None:
    """Write the seal of a step. Its first line is the digest of its second, which is JSON."""
    body = json.dumps(numbered({**about, 'files': files})).encode()
    write_atomically(folder / SEAL, hashlib.blake2b(body).hexdigest().encode() + b'\n' + body)


def _read_seal(folder: Path) -> _Seal:
    try:
        digest, _, body = read_regular(folder / SEAL).partition(b'\n')
    except (FileNotFoundError, NotADirectoryError):
        raise _DamagedError(f'{SEAL} is missing') from None
    except OSError as error:
        raise _DamagedError(f'{SEAL} cannot be read ({error.strerror})') from None
    if digest != hashlib.blake2b(body).hexdigest().encode():
        raise _DamagedError(f'{SEAL} is damaged')
    written, fields = without_number(json.loads(body), f'{folder / SEAL}'), dataclasses.fields(_Seal)
    unknown = written.keys() - {field.name for field in fields}
    if unknown:
        raise UserError(
            f"{folder / SEAL}: written by a newer version of Saccade: it has the field '{min(unknown)}', which this "
            'version does not know; update Saccade'
        )
    if missing := [field.name for field in fields if field.name not in written]:
        raise UserError(
            f"{folder / SEAL}: written by a development version of Saccade: it has no '{missing[0]}'; train again"
        )
    seal = _Seal(**written)
    if folder.name != str(seal.step):
        raise _DamagedError(f'{SEAL} is of step {seal.step}, so the folder was renamed or copied')
    return seal


def _complaint(folder: Path, field: str | None, mirror: Mirror) -> str | None:
    """Return the damage of a step, or of the files of one field; None if all agree with the seal."""
    try:
        files = _read_seal(folder).files_of(field)
        mirror.fetch(folder, files)
        for name, (size, digest) in files.items():
            _verify(folder, name, size, digest)
    except _DamagedError as error:
        return str(error)
    return None


def _verify(folder: Path, name: str, size: int, digest: str) -> None:
    try:
        found = (folder / name).stat().st_size
        if found != size:
            raise _DamagedError(f'{name} has {found} bytes instead of {size}')
        if file_digest(folder / name) != digest:
            raise _DamagedError(f'{name} is damaged')
    except OSError as error:
        raise _DamagedError(f'{name} cannot be read ({error.strerror})') from error


def file_digest(path: Path) -> str:
    """Return the BLAKE2b digest of a file, in hexadecimal."""
    with path.open('rb') as file:
        return hashlib.file_digest(file, 'blake2b').hexdigest()


def _fields(state: PyTree) -> dict[str, PyTree]:
    """Return the fields of a state that are not empty, by name."""
    children, _ = jax.tree_util.tree_flatten_with_path(state, is_leaf=lambda node: node is not state)
    named = {jax.tree_util.keystr(path, simple=True): child for path, child in children}
    return {name: child for name, child in named.items() if jax.tree.leaves(child)}


def _stores(fields: Mapping[str, PyTree]) -> dict[str, dict[str, PyTree]]:
    """Group fields by the store that holds them."""
    stores: dict[str, dict[str, PyTree]] = {}
    for name, tree in fields.items():
        stores.setdefault(_store_of(name), {})[name] = tree
    return stores


def _store_of(field: str) -> str:
    return field if field in _ALONE else _REST


def _read(folder: Path, like: PyTree, part: bool = False) -> PyTree:
    """Read arrays with the structure of `like`; with `part`, the checkpoint may hold other fields as well.

    Raises:
        UserError: the checkpoint holds another state.
    """
    import orbax.checkpoint as ocp

    wanted, seal, found = _fields(jax.tree.map(_placed, like)), _read_seal(folder), {}
    stores = _stores(wanted)
    _refuse_other(folder, wanted, [store for store in seal.stores if store in stores or not part], part)
    with closing(ocp.Checkpointer(ocp.PyTreeCheckpointHandler())) as reader:
        for store, trees in stores.items():
            restore_args = ocp.checkpoint_utils.construct_restore_args(trees)
            arguments = ocp.args.PyTreeRestore(trees, restore_args=restore_args, partial_restore=True)
            found |= reader.restore(folder / store, args=arguments)
    leaves = jax.tree.leaves([found[name] for name in wanted])
    return jax.tree.map(_with_key_type, jax.tree.unflatten(jax.tree.structure(like), leaves), like)


def _refuse_other(folder: Path, wanted: Mapping[str, PyTree], stores: Iterable[str], part: bool) -> None:
    import orbax.checkpoint as ocp
    from etils import epath

    handler, stored = ocp.PyTreeCheckpointHandler(), {}
    for store in stores:
        stored |= _described(handler.metadata(epath.Path(folder / store)).tree)
    if part:
        stored = {name: stored[name] for name in stored if name.partition('.')[0] in wanted}
    differences = [text for _, text in differ(stored, _described(wanted))]
    if differences:
        more = f'; and {len(differences) - _SHOWN} more' if len(differences) > _SHOWN else ''
        raise UserError(f'{folder}: holds another state: {"; ".join(differences[:_SHOWN])}{more}')


def _described(tree: PyTree) -> dict[str, str]:
    """Return dtype and shape by dotted path."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {
        jax.tree_util.keystr(path, simple=True, separator='.'): f'{np.dtype(leaf.dtype).name}{list(leaf.shape)}'
        for path, leaf in leaves
    }


def _is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def as_raw(leaf: Any) -> Any:
    """Return the words of a typed key, which is stored as these; another leaf as it is."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _placed(leaf: Any) -> jax.ShapeDtypeStruct:
    raw = jax.eval_shape(jax.random.key_data, leaf) if _is_key(leaf) else leaf
    here = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    return jax.ShapeDtypeStruct(raw.shape, raw.dtype, sharding=getattr(leaf, 'sharding', None) or here)


def _with_key_type(array: jax.Array, leaf: Any) -> jax.Array:
    if not _is_key(leaf):
        return array
    found: list[Any] = []
    jax.eval_shape(lambda key: found.append(jax.random.key_impl(key)), leaf)
    return jax.random.wrap_key_data(array, impl=found[0])


def _agreed(find: Callable[[], int | None]) -> int | None:
    """Search on process 0, and broadcast the step that it found."""
    step = find() if jax.process_index() == 0 else None
    told = int(multihost_utils.broadcast_one_to_all(np.int32(-1 if step is None else step)))
    return None if told < 0 else told


@cache
def _silence_orbax() -> None:
    """Silence Orbax, which logs every operation and every task that a full disk ends; it raises real errors too."""
    for library in ('absl', 'asyncio'):
        logging.getLogger(library).addFilter(_is_not_from_orbax)
    sys.unraisablehook = partial(_show_unraisable, sys.unraisablehook)


def _is_not_from_orbax(record: logging.LogRecord) -> bool:
    frames = traceback.extract_tb(record.exc_info[2]) if record.exc_info else []
    files = [record.pathname, *(frame.filename for frame in frames)]
    return 'orbax' not in record.getMessage() and not any('orbax' in Path(file).parts for file in files)


def _show_unraisable(show: Callable[[Any], None], unraisable: Any) -> None:
    """Show an exception that cannot be raised, except of writes that report to a save which has already failed."""
    if unraisable.object is not None or str(unraisable.exc_value) != 'Event loop is closed':
        show(unraisable)
