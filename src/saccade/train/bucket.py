# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Folder of a run in a bucket (`gs://`, `s3://`): a local folder that is mirrored through fsspec.

The bucket holds the run; the local folder, in the cache, is a copy that each start makes equal to it. A start downloads
the logs and the seals of the steps (`train.seal`), and the files of a step only when they are read. After a save
the files of the step go up, then the logs, and the seal last: a step without a seal in the bucket is ignored, and
removed by the next save. A step is removed in the reverse order, its seal first. An object store replaces an object as
a whole, so a kill between any two uploads leaves the steps that were sealed before it.

`lease.json` says which process trains the run. It is no lock, since stores without conditional writes have none: two
runs that start within the same moment both find no lease, and write theirs; after `SETTLED` seconds each reads it
again, and all but the last writer stop. If a write takes longer than that, both train until the next renewal, when one
of them finds the other's lease and stops; if both have then written files of the same step, its seal tells, and an
earlier step is used.
"""

import json
import logging
import os
import shutil
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import jax
from jax.experimental import multihost_utils

from saccade.extras import lacks
from saccade.train.experiment import cache_folder
from saccade.train.process.processes import require_shared
from saccade.types import UserError

SEAL = 'saccade.seal'  # file of a step, whose presence commits it
LEASE = 'lease.json'
RENEWED = 20  # seconds between two renewals of a lease
EXPIRED = 60  # seconds without a renewal after which the holder counts as dead
SETTLED = 2  # seconds after which a new lease is read again

_SHOWN = 8
_log = logging.getLogger(__name__)


def is_bucket(path: str | Path) -> bool:
    """Return True if a path is a URL."""
    return '://' in str(path)


class Mirror:
    """Copy of a run's folder in another place. This one copies nothing: the folder is all there is."""

    def fetch(self, folder: Path, names: Iterable[str]) -> None:
        """Download the files of a step that are missing in its folder."""

    def complete(self) -> None:
        """Download all files of all steps."""

    def upload(self, folder: Path, step: int, names: Iterable[str]) -> None:
        """Upload files of a step before its seal."""

    def commit(self, folder: Path) -> None:
        """Upload the logs, and then the seal of a step."""

    def push(self) -> None:
        """Upload the logs: every changed file outside the checkpoints."""

    def tidy(self) -> None:
        """Remove steps and logs that are no longer in the folder."""

    @contextmanager
    def leased(self, refuse: Callable[[str], Any], say: Callable[[str], Any]) -> Iterator[None]:
        """Keep other machines from training the run, and leave its last logs in the mirror."""
        yield


NOWHERE = Mirror()


class Bucket(Mirror):
    """Folder of a run in a bucket.

    Attributes:
        url: as given, without a slash at its end.
        folder: the local folder.

    Raises:
        UserError: a package for this kind of URL is missing, or the URL cannot be a folder.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip('/')
        named = f'{self.url.rpartition("/")[2]}-{sha256(self.url.encode()).hexdigest()[:12]}'
        self.folder = cache_folder() / 'buckets' / named
        self._steps: set[int] = set()  # in the bucket, sealed or not
        self._logs: dict[str, tuple[int, int]] = {}  # size and time of each log in the bucket, when it was copied
        self._lease = self.folder / '.lease'  # the number of the last lease that was held from here
        with self._reaching():
            from fsspec.core import url_to_fs

            # Other stores have no folders to be made, and listings are not cached, since other machines write there.
            options = {'auto_mkdir': True} if self.url.startswith('file://') else {}
            self._files, self._root = url_to_fs(self.url, use_listings_cache=False, **options)

    def visit(self) -> None:
        """Make the local folder equal to the bucket, unless a run that trains here keeps it so.

        Processes that train together call this together.

        Raises:
            UserError: the bucket does not exist or cannot be read, or it holds something else than a run; or the
                processes do not share the local folder.
        """
        from saccade.train.process.lock import holder

        together = jax.distributed.is_initialized()  # before that, asking for a process's number would start JAX
        first = not together or jax.process_index() == 0
        if first and not holder(self.folder / '.lock'):
            self._refresh()
        if together:
            self._require_shared(first)

    def fetch(self, folder: Path, names: Iterable[str]) -> None:
        """Download the files of a step that are missing in its folder; those missing in the bucket stay missing.

        Raises:
            UserError: the bucket cannot be read.
        """
        self._get(f'checkpoints/{folder.name}', folder, [name for name in names if not (folder / name).exists()])

    def complete(self) -> None:
        """Download all files of all steps.

        Raises:
            UserError: the bucket cannot be read.
        """
        for folder in self._here().values():
            self.fetch(folder, self._of_step(int(folder.name)))

    def upload(self, folder: Path, step: int, names: Iterable[str]) -> None:
        """Upload files of a step that is not sealed yet.

        Raises:
            UserError: the bucket cannot be written to.
        """
        names = list(names)
        with self._reaching():
            self._files.put([str(folder / name) for name in names], [self._at('checkpoints', step, n) for n in names])

    def commit(self, folder: Path) -> None:
        """Upload the logs, and then the seal of a step.

        Raises:
            UserError: the bucket cannot be written to, or another run has taken the lease.
        """
        self.push()
        self._steps.add(int(folder.name))
        with self._reaching():
            self._files.pipe_file(self._at('checkpoints', folder.name, SEAL), (folder / SEAL).read_bytes())

    def push(self) -> None:
        """Upload the logs: every changed file outside the checkpoints.

        Raises:
            UserError: the bucket cannot be written to, or another run has taken the lease.
        """
        self._renew()
        for name, path in self._local_logs().items():
            stamp = _stamp(path)
            if self._logs.get(name) != stamp:
                with self._reaching():
                    self._files.pipe_file(self._at(name), path.read_bytes())  # whole: the file may grow meanwhile
                self._logs[name] = stamp

    def tidy(self) -> None:
        """Remove steps, and then logs, that are no longer in the local folder.

        Raises:
            UserError: the bucket cannot be written to.
        """
        for step in sorted(self._steps - self._here().keys(), reverse=True):
            names = self._of_step(step)
            self._remove(self._at('checkpoints', step, name) for name in sorted(names, key=lambda name: name != SEAL))
            self._steps.discard(step)
        for name in self._logs.keys() - self._local_logs().keys():
            self._remove([self._at(name)])
            del self._logs[name]

    @contextmanager
    def leased(self, refuse: Callable[[str], Any], say: Callable[[str], Any]) -> Iterator[None]:
        """Hold the lease of the run, and upload the logs at the end. The caller holds the lock of the local folder.

        Args:
            refuse: called with the name of the process that trains the run, if one does; raises.
            say: called with a line for people, before waiting.

        Raises:
            UserError: the bucket cannot be written to, or another run has taken the lease.
        """
        self._take(refuse, say)
        over = threading.Event()
        renewing = threading.Thread(target=self._renew_until, args=(over,), name='lease', daemon=True)
        renewing.start()

        def leave() -> None:
            over.set()
            renewing.join()
            self.push()
            self._remove([self._at(LEASE)])

        try:
            self._refresh()  # another machine may have trained the run since it was visited
            yield
        except BaseException:
            with suppress(UserError):  # the error that ended the run matters more
                leave()
            raise
        leave()

    def _require_shared(self, first: bool) -> None:
        mark = self.folder / '.shared'
        mark.unlink(missing_ok=True)
        multihost_utils.sync_global_devices(self.url)
        if first:
            self.folder.mkdir(parents=True, exist_ok=True)
            mark.touch()
        try:
            require_shared(mark)
        except UserError as error:
            raise UserError(f'{self.url}: {error}, by SACCADE_CACHE') from None

    def _refresh(self) -> None:
        """Make the logs and the seals here equal to the bucket's; a step with a changed file loses all its files."""
        names = self._top()
        if names and 'config.json' not in names:
            more = ', ...' if len(names) > _SHOWN else ''
            held = ', '.join(sorted(names)[:_SHOWN])
            raise UserError(f'{self.url}: not a Saccade run; it holds {held}{more}: name a new or an empty folder')
        if not names and self.folder.exists():
            for entry in self.folder.iterdir():  # a run that was deleted in the bucket
                if not entry.name.startswith('.'):
                    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        logs = [name for name, kind in names.items() if kind == 'file']
        for name in self._local_logs().keys() - set(logs):
            if '/' not in name:
                (self.folder / name).unlink(missing_ok=True)
        self._get('', self.folder, logs)
        self._logs = {name: _stamp(self.folder / name) for name in logs}
        self._refresh_steps()

    def _refresh_steps(self) -> None:
        with self._reaching():
            found = self._files.find(self._at('checkpoints'))
        paths = {path.removeprefix(self._at('checkpoints')).lstrip('/').partition('/')[::2] for path in found}
        self._steps = {int(step) for step, _ in paths if step.isdecimal()}
        sealed = {int(step) for step, name in paths if step.isdecimal() and name == SEAL}
        for step in sorted(self._steps - sealed):
            _log.warning('%s: step %d is incomplete, since its upload was interrupted, and is ignored', self.url, step)
        for step, folder in self._here().items():
            if step not in sealed:
                shutil.rmtree(folder, ignore_errors=True)
        for step in sealed:
            folder = self.folder / 'checkpoints' / str(step)
            with self._reaching():
                seal = self._files.cat_file(self._at('checkpoints', step, SEAL))
            if not (folder / SEAL).exists() or (folder / SEAL).read_bytes() != seal:
                shutil.rmtree(folder, ignore_errors=True)
                self._get(f'checkpoints/{step}', folder, [SEAL])

    def _take(self, refuse: Callable[[str], Any], say: Callable[[str], Any]) -> None:
        """Take the lease, after a wait if a run on another machine may hold it; clocks are not compared."""
        there, own = self._read(), self._lease.read_text() if self._lease.exists() else None
        if there and there['id'] != own:  # a run of this folder is dead: it would hold the lock
            say(f'waiting     {EXPIRED} s for {there["owner"]}, which trained this run, and may still')
            until = time.monotonic() + EXPIRED
            while there == (now := self._read()) and time.monotonic() < until:
                time.sleep(min(RENEWED, EXPIRED) / 4)
            if now and now != there:
                refuse(now['owner'])
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lease.write_text(uuid.uuid4().hex)
        self._write()
        time.sleep(SETTLED)
        now = self._read()
        if now and now['id'] != self._lease.read_text():
            refuse(now['owner'])

    def _renew_until(self, over: threading.Event) -> None:
        while not over.wait(RENEWED):
            with suppress(UserError):  # the next upload meets it again
                self._renew()

    def _renew(self) -> None:
        """Renew the lease.

        Raises:
            UserError: another run has taken it.
        """
        now = self._read()
        if now and now['id'] != self._lease.read_text():
            raise UserError(f'{self.url}: {now["owner"]} trains this run too, and has taken its lease; this one stops')
        self._write()

    def _read(self) -> dict[str, Any] | None:
        with self._reaching():
            try:
                return json.loads(self._files.cat_file(self._at(LEASE)))
            except FileNotFoundError:
                return None

    def _write(self) -> None:
        owner = f'process {os.getpid()} on {socket.gethostname()}'
        lease = {'owner': owner, 'id': self._lease.read_text(), 'time': time.time()}
        with self._reaching():
            self._files.pipe_file(self._at(LEASE), json.dumps(lease).encode())

    def _at(self, *names: Any) -> str:
        return '/'.join(map(str, (self._root, *names)))

    def _here(self) -> dict[int, Path]:
        """Folders of the steps here."""
        folders = (self.folder / 'checkpoints').glob('[0-9]*')
        return {int(folder.name): folder for folder in folders if folder.name.isdecimal()}

    def _local_logs(self) -> dict[str, Path]:
        """Files here outside the checkpoints, by path within the folder, the config first."""
        paths = {path.relative_to(self.folder).as_posix(): path for path in self.folder.rglob('*') if path.is_file()}
        logs = [name for name in paths if not name.startswith('checkpoints/') and not paths[name].name.startswith('.')]
        return {name: paths[name] for name in sorted(logs, key=lambda name: (name != 'config.json', name))}

    def _top(self) -> dict[str, str]:
        """Names at the top of the bucket's folder, and their kinds, 'file' or 'directory'."""
        with self._reaching():
            try:
                found = self._files.ls(self._root, detail=True)
            except FileNotFoundError:
                self._require_bucket()
                return {}
        names = {entry['name'].rstrip('/').rpartition('/')[2]: entry['type'] for entry in found}
        return {name: kind for name, kind in names.items() if name and name != LEASE}

    def _require_bucket(self) -> None:
        bucket = self._root.partition('/')[0]
        try:
            self._files.ls(bucket)
        except FileNotFoundError:
            raise UserError(f"{self.url}: there is no bucket '{bucket}'; create it first") from None
        except PermissionError:  # of the whole bucket; the folder may be the user's
            pass

    def _of_step(self, step: int) -> list[str]:
        """Paths of the files of a step in the bucket, within the step."""
        with self._reaching():
            found = self._files.find(self._at('checkpoints', step))
        return [path.removeprefix(self._at('checkpoints', step)).lstrip('/') for path in found]

    def _get(self, source: str, folder: Path, names: Iterable[str]) -> None:
        """Download files, each whole or not at all; those that are missing are left out."""
        part = f'.{uuid.uuid4().hex}.tmp'
        parts = {name: (folder / name).with_name(f'.{Path(name).name}{part}') for name in names}
        try:
            with self._reaching(), suppress(FileNotFoundError):
                remote = [self._at(*filter(None, (source, name))) for name in parts]
                self._files.get(remote, [str(path) for path in parts.values()])
            for name, path in parts.items():
                if path.exists():
                    path.replace(folder / name)
        finally:
            for path in parts.values():
                path.unlink(missing_ok=True)

    def _remove(self, paths: Iterable[str]) -> None:
        with self._reaching():
            for path in paths:
                with suppress(FileNotFoundError):
                    self._files.rm_file(path)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Report an error of the store, whichever library it comes from, in one line.

        Raises:
            UserError: in place of the library's error.
        """
        try:
            yield
        except UserError:
            raise
        except ImportError as error:
            raise UserError(lacks('bucket', self.url) or f'{self.url}: {error}') from error
        except Exception as error:
            reason = str(error).strip() or type(error).__name__
            raise UserError(
                f'{self.url}: cannot be reached: {reason.splitlines()[0]}: check the name, credentials and network'
            ) from error


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
