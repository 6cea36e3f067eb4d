# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Run folder: the paths of its files, its config, and atomic writes."""

import errno
import itertools
import json
import os
import shlex
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

import jax
from ml_collections import ConfigDict

from saccade.build import plain
from saccade.paths import expanded, read_text
from saccade.train.bucket import NOWHERE, Bucket, Mirror, is_bucket
from saccade.train.format import numbered, without_number
from saccade.types import UserError

# Fields that a resumed run may change, as dotted paths. A pattern covers the fields below it too; `*` stops at a dot.
FREE = ('steps', 'mesh', 'backend', '*_every', 'logging', 'workers', '*.workers')
# File names of a processor.
PROCESSORS = '*tokenizer.json', '*tokenizer_config.json', '*processor.json'
BEFORE = 'before_restart'  # folder of the output of earlier starts, before the run was restarted from scratch
EVERY_RUN_HAS = ('seed', 'steps', 'task', 'model', 'data')

_QUOTA = (errno.EDQUOT,)
_FULL = (errno.ENOSPC,)
_REFUSED = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG)
_SHELL_LOGS = ('.log', '.out', '.err')  # where a shell or a scheduler sends the output of this run
_SHOWN = 8


@dataclass(frozen=True)
class Workdir:
    """Folder of one run, from `open` (to train) or `existing` (to evaluate, generate or report).

    Attributes:
        path: the local folder.
        mirror: copy of the folder in a bucket, if there is one.
    """

    path: Path
    mirror: Mirror = NOWHERE

    @classmethod
    def at(cls, path: str | Path) -> 'Workdir':
        """Return the folder of a path, which need not exist; a folder in a bucket is downloaded, except its arrays.

        Raises:
            UserError: the path cannot be a folder, or the bucket cannot be read.
        """
        if not is_bucket(path):
            return cls(absolute(path))
        bucket = Bucket(str(path))
        bucket.visit()
        return cls(bucket.folder, bucket)

    @classmethod
    def open(cls, path: str | Path, config: Mapping[str, Any] | ConfigDict, *, free: Sequence[str] = FREE) -> 'Workdir':
        """Create the folder of a run with this config, or find an existing one: `check`, then `store`."""
        workdir = cls.check(path, config, free=free)
        workdir.store(config)
        return workdir

    @classmethod
    def check(
        cls, path: str | Path, config: Mapping[str, Any] | ConfigDict, *, free: Sequence[str] = FREE
    ) -> 'Workdir':
        """Find the folder at a path, and check it: `at`, then `require`."""
        return cls.at(path).require(config, free=free)

    def require(self, config: Mapping[str, Any] | ConfigDict, *, free: Sequence[str] = FREE) -> 'Workdir':
        """Check that the folder can hold a run with this config, and return it; nothing is written.

        Args:
            config: the resolved config, as config.json is to hold it.
            free: patterns of the fields in which a resumed run may differ from its first start.

        Raises:
            UserError: the folder holds something else or a run of another config, or a file of the run is a folder;
                or config cannot be stored.
        """
        config = _storable(config)
        if self.config.exists():
            self._refuse_other(self.read_config(), config, free)
            self._refuse_displaced()
        else:
            self._refuse_foreign()
        return self

    @classmethod
    def existing(cls, path: str | Path) -> 'Workdir':
        """Find the folder of a run that was started before.

        Raises:
            UserError: there is no such folder, or it is not a Saccade run.
        """
        workdir = cls.at(path)
        if not workdir.path.exists():
            flag = shlex.quote(f'--workdir={path}')
            raise UserError(f'{path}: there is no such folder; a run is made by launch/train.py {flag}')
        if not workdir.config.exists():
            raise UserError(f'{path}: not a Saccade run: it has no config.json; {workdir._contents()}')
        workdir.read_config()
        return workdir

    @property
    def config(self) -> Path:
        """The resolved config, `config.json`."""
        return self.path / 'config.json'

    @property
    def metrics(self) -> Path:
        """The metrics by step, `metrics.jsonl`."""
        return self.path / 'metrics.jsonl'

    @property
    def declarations(self) -> Path:
        """The declarations of the metrics, `declared_metrics.json`."""
        return self.path / 'declared_metrics.json'

    @property
    def samples(self) -> Path:
        """The samples by step, `samples.jsonl`."""
        return self.path / 'samples.jsonl'

    @property
    def provenance(self) -> Path:
        """The provenance of each start, `provenance.jsonl`."""
        return self.path / 'provenance.jsonl'

    @property
    def processor(self) -> list[Path]:
        """The existing files of the processor, as `tokenizer.json`."""
        return sorted(file for name in PROCESSORS for file in self.path.glob(name))

    @property
    def classes(self) -> Path:
        """The names of the classes, `classes.json`."""
        return self.path / 'classes.json'

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints, `checkpoints/`."""
        return self.path / 'checkpoints'

    @property
    def events(self) -> Path:
        """The folder of TensorBoard's event files, `events/`."""
        return self.path / 'events'

    @property
    def live(self) -> Path:
        """The page that is rewritten while the run trains, `live.html`."""
        return self.path / 'live.html'

    @property
    def lock(self) -> Path:
        """The file whose lock training holds."""
        return self.path / '.lock'

    def read_config(self) -> dict[str, Any]:
        """Return the resolved config that the run was started with.

        Raises:
            UserError: config.json is not JSON, or is not the config of a Saccade run, or has a newer format.
        """
        try:
            config = json.loads(read_text(self.config))
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f'{self.config}: cannot be read as JSON: {error}') from error
        missing = _missing(config)
        if missing and isinstance(config, dict) and 'model_type' in config:
            raise UserError(
                f'{self.path}: not a Saccade run, but a Hugging Face directory, which has a model but no task and no '
                f'data: name the run that it was exported from, or fine-tune it with launch/train.py '
                f'{shlex.quote(f"--config.init_from={self.path}")}; commands that need only a model have --init_from'
            )
        if missing:
            raise UserError(f"{self.config}: not the config of a Saccade run: it has no '{missing[0]}'")
        return without_number(config, f'{self.config}')

    def store(self, config: Mapping[str, Any] | ConfigDict) -> None:
        """Write config.json, unless it is unchanged; a missing folder is created."""
        config = _storable(config)
        if jax.process_index() == 0 and not (self.config.exists() and self.read_config() == config):
            with writing(self.path):
                self.path.mkdir(parents=True, exist_ok=True)
            write_atomically(self.config, json.dumps(numbered(config), indent=2, sort_keys=True) + '\n')

    def set_aside(self) -> Path | None:
        """Move all output of training, except config and processor, into a separate folder, and return that.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        written = [self.metrics, self.declarations, self.samples, self.provenance, self.events, self.checkpoints]
        written.append(self.path / 'wandb_id')
        there = [path for path in written if path.exists()]
        if not there:
            return None
        with writing(self.path):
            numbered = (self.path / BEFORE / str(number) for number in itertools.count(1))
            folder = next(path for path in numbered if not path.exists())
            folder.mkdir(parents=True)
            for path in there:
                path.rename(folder / path.name)
        return folder

    def _refuse_foreign(self) -> None:
        if self.path.exists() and (not self.path.is_dir() or self._entries()):
            raise UserError(f'{self.path}: not a Saccade run; {self._contents()}: name a new or an empty folder')

    def _refuse_displaced(self) -> None:
        """Refuse a folder in the place of a file of the run, and a file in the place of a folder."""
        steps = self.checkpoints.glob('[0-9]*') if self.checkpoints.is_dir() else [self.checkpoints]
        for path in (self.metrics, self.samples):
            if path.is_dir():
                raise UserError(f'{path}: it is a folder, and the run needs a file there; move it away')
        for path in steps:
            if path.is_file():
                raise UserError(f'{path}: it is a file, and the run needs a folder there; move it away')

    def _refuse_other(self, there: Mapping[str, Any], asked: Mapping[str, Any], free: Sequence[str]) -> None:
        differences = differing(there, asked, free)
        if not differences:
            return
        more = f'; and {len(differences) - _SHOWN} more' if len(differences) > _SHOWN else ''
        shown = '; '.join(differences[:_SHOWN])
        raise UserError(f'{self.path}: holds a run of another config: {shown}{more}: name another folder')

    def _entries(self) -> list[str]:
        names = sorted(entry.name for entry in self.path.iterdir())
        return [name for name in names if not name.startswith('.') and not name.endswith(_SHELL_LOGS)]

    def _contents(self) -> str:
        if not self.path.is_dir():
            return 'it is a file'
        names = self._entries()
        more = ', ...' if len(names) > _SHOWN else ''
        return f'it holds {", ".join(names[:_SHOWN])}{more}' if names else 'it is empty'


def differ(there: Mapping[str, Any], asked: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return each field in which two configs differ: its dotted path, and a phrase that shows both values."""
    old, new = dict(_leaves(there)), dict(_leaves(asked))
    return [
        (field, f'{field}: {_shown(old, field)} in the folder, {_shown(new, field)} requested')
        for field in sorted(old.keys() | new.keys())
        if field not in old or field not in new or old[field] != new[field]
    ]


def differing(there: Mapping[str, Any], asked: Mapping[str, Any], free: Sequence[str] = FREE) -> list[str]:
    """Return the phrases of `differ` for the fields in which a resumed run may not differ."""
    return [text for field, text in differ(there, asked) if not _is_free(field, free)]


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a whole file in place, or leave the earlier one as it was.

    Raises:
        UserError: the disk is full or cannot be written to.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f'.{path.name}.{uuid.uuid4().hex}.tmp')
    with writing(path.parent):
        try:
            with temporary.open('xb') as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk: before that, a crash of the machine may undo a rename in it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):  # of filesystems that cannot flush folders
            raise
    finally:
        os.close(descriptor)


def open_own(path: Path, mode: str, **options: Any) -> IO[Any]:
    """Open a file of the run for writing; a missing one is created. A symbolic link is not followed.

    Raises:
        UserError: the file is a symbolic link.
    """
    try:
        return open(path, mode, opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o666), **options)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise UserError(f'{path}: is a symbolic link, and the run writes a file there; delete it') from None


@contextmanager
def writing(folder: Path, needed: int | None = None) -> Iterator[None]:
    """Report a full disk or quota, or a folder that cannot be written to, in one line, whichever library failed.

    Free space is read after the failed attempt, which has been deleted by then, and may have been larger than `needed`.

    Args:
        folder: folder that is written to.
        needed: least number of bytes to write, if known.

    Raises:
        UserError: in place of the library's error.
    """
    try:
        yield
    except Exception as error:
        failed = 'writing failed' if needed is None else f'writing at least {needed:,} bytes failed'
        if _is(error, _QUOTA):
            raise UserError(f'{folder}: the disk quota is exceeded: {failed}') from error
        if _is(error, _FULL):
            free = shutil.disk_usage(_nearest_folder(folder)).free
            raise UserError(f'{folder}: the disk is full: {failed}; {free:,} bytes are free after it') from error
        if _is(error, _REFUSED):
            raise UserError(f'{folder}: cannot be written to: {error}') from error
        raise


def absolute(path: str | Path) -> Path:
    """Return the folder of a path; it need not exist, and `~` is a home folder.

    Raises:
        UserError: the path cannot be a folder.
    """
    if is_bucket(path):
        raise UserError(f'{path}: must be a local folder; only the --workdir of one run may be in a bucket')
    return expanded(path).absolute()


def _is(error: BaseException | None, numbers: Sequence[int]) -> bool:
    """Return True if `error` comes from such an error of the system; TensorStore only quotes it in a message."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in numbers:
            return True
        if any(f"os_error_code='{number}'" in str(error) for number in numbers):
            return True
        error = error.__cause__ or error.__context__
    return False


def _nearest_folder(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def _storable(config: Mapping[str, Any] | ConfigDict) -> dict[str, Any]:
    """Return the config as it is read back from JSON."""
    config = plain(config)
    missing = _missing(config)
    if missing:
        raise UserError(f'config.{missing[0]}: missing; every run has it')
    for field, value in _leaves(config):
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise UserError(f'config.{field}: {value!r} cannot be stored; use numbers, text, lists and dicts') from None
    return json.loads(json.dumps(config))


def _missing(config: Any) -> list[str]:
    return [field for field in EVERY_RUN_HAS if not isinstance(config, dict) or field not in config]


def _leaves(tree: Mapping[str, Any], prefix: str = '') -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f'{prefix}{key}.')
        else:
            yield f'{prefix}{key}', value


def _shown(leaves: Mapping[str, Any], field: str) -> str:
    return repr(leaves[field]) if field in leaves else 'absent'


def _is_free(field: str, patterns: Sequence[str]) -> bool:
    names = field.split('.')
    return any(
        len(parts) <= len(names) and all(map(fnmatchcase, names, parts))
        for parts in (pattern.split('.') for pattern in patterns)
    )
