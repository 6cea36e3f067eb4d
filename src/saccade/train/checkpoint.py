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

from saccade.train.bucket import NOWHERE, Mirror
from saccade.train.seal import DamagedError, Seal, complaint_of, digests_together, read_seal, write_seal
from saccade.train.stored_state import as_raw, read_state, stores_of
from saccade.train.workdir import sync_folder, writing
from saccade.types import Metric, UserError

_LOSS = Metric('loss', 'lowest')
_SHELVES = ('damaged', 'superseded')
# What remains after a kill during a save, by this class or by Orbax, or during a deletion.
_LEFTOVER = re.compile(r'(0|[1-9][0-9]*)\.(deleted|saving|(saving\.)?orbax-checkpoint-tmp(-[0-9]+)?)')
_log = logging.getLogger(__name__)


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
            stores = {name: ocp.args.PyTreeSave(fields) for name, fields in stores_of(arrays).items()}
            writer.save(folder, args=ocp.args.Composite(**stores))
        self._pending = _Pending(step, size, self._background.submit(self._finish, writer, folder, about))

    def add_metrics(self, step: int, metrics: Mapping[str, SupportsFloat], extra: Mapping[str, Any]) -> None:
        """Add results that were measured after the save of a step to its seal, then delete steps that need not stay.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        self.wait()
        if jax.process_index() == 0:
            seal = read_seal(self._at(step))
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
        seal = read_seal(self._at(step))
        return Restored(step, read_state(self._at(step), {name: like}, seal.stores, part=True)[name], seal.extra)

    def _restore(self, find: Callable[[], int | None], like: PyTree) -> Restored | None:
        self.wait()
        step = _agreed(find)
        if step is None:
            return None
        seal = read_seal(self._at(step))
        state = read_state(self._at(step), like, seal.stores)
        self._current = step
        return Restored(step, state, seal.extra)

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
            complaint = complaint_of(self._at(step), field, self._mirror)
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
        own, others = digests_together(folder, partial(self._mirror.upload, folder, step))
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

    def _seals(self) -> dict[int, Seal]:
        seals = {}
        for step in self._present():
            try:
                seals[step] = read_seal(self._at(step))
            except DamagedError:
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
