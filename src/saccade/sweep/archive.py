# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Archive of finished runs: the files that sweeps and reports read, in one compressed file for a repository.

A study that takes longer than a machine is there continues on the next one: `restore` puts the finished runs back,
without checkpoints, and the launch starts the others. Equal runs give equal bytes.
"""

import io
import json
import lzma
import shlex
import tarfile
from pathlib import Path, PurePath, PurePosixPath

from saccade.sweep.folder import SweepFolder
from saccade.sweep.record import Sweep, as_json, read_sweep, sweep_file
from saccade.train.log.provenance import read
from saccade.train.workdir import Workdir, write_atomically, writing
from saccade.types import UserError


def archive(folder: Path, file: Path) -> int:
    """Write the records of all sweeps below a folder to a `.tar.xz` file; return the number of finished runs.

    Commands have no paths of the machine, and paths below the current folder become relative to it, since the file may
    be published.

    Raises:
        UserError: a sweep's record is damaged; the file is no archive, or holds finished runs that the sweeps lack; or
            it cannot be written.
    """
    sweeps = [record.parent for record in folder.rglob(sweep_file(folder).name)]
    recorded = {sweep_file(sweep): _as_it_is(SweepFolder(sweep)) for sweep in sweeps}
    runs = [
        record.parent / run.name for record, sweep in recorded.items() for run in sweep.runs if run.status == 'finished'
    ]
    records = [*recorded, *(file for run in runs for file in _files(run) if file.exists())]
    there = {PurePosixPath(name).parent for name in _contents(file)} if file.exists() else set()
    if lost := sorted(there - {path.relative_to(folder).parent for path in records}):
        raise UserError(
            f'{file}: holds finished runs that {folder} lacks, {lost[0]} first of {len(lost)}; give another file'
        )
    buffer, here = io.BytesIO(), f'{Path.cwd()}/'.encode()
    with tarfile.open(fileobj=buffer, mode='w:xz') as tar:
        for path in sorted(records):
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            content = as_json(recorded[path]).encode() if path in recorded else _portable(path, folder)
            content = content.replace(here, b'')
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    write_atomically(file, buffer.getvalue())
    return len(runs)


def restore(file: Path, folder: Path) -> None:
    """Write the records of an archive below a folder; sweeps and runs that are there already stay as they are.

    Raises:
        UserError: the file is not an archive of runs, or the folder cannot be written to.
    """
    records = _contents(file)
    names = {path.name for path in (sweep_file(folder), *_files(folder))}
    for name in records:
        path = PurePosixPath(name)
        if path.is_absolute() or '..' in path.parts or path.name not in names:
            raise UserError(f'{file}: not an archive of runs: it holds {name}')
    with writing(folder):
        there = {path.parent for path in map(folder.joinpath, records) if path.exists()}
        for name, content in records.items():
            path = folder / name
            if path.parent not in there:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, content)


def _contents(file: Path) -> dict[str, bytes]:
    """Return the content of each record of an archive by its path."""
    try:
        content = lzma.decompress(file.read_bytes())  # tarfile would take a damaged header as the end
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            return {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isreg()}
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError) as error:
        raise UserError(f'{file}: not an archive of runs: {error}') from None


def _as_it_is(folder: SweepFolder) -> Sweep:
    """Return the record of a sweep, in which runs that another launch finished, or that were restored, are finished."""
    found = read_sweep(folder.path)
    for run in found.runs:
        if run.status not in ('finished', 'failed') and folder.finished(run):
            found = found.changed(run.name, status='finished', exit=0)
    return found


def _portable(path: Path, folder: Path) -> bytes:
    """Return the content of a record; of the starts of a run, with commands that can be repeated on another machine."""
    run, content = Workdir(path.parent), path.read_bytes()
    if path != run.provenance:
        return content
    starts = [
        start | {'command': _command(start['command'], run.path.relative_to(folder))} if 'command' in start else start
        for start in read(path)
    ]
    return ''.join(f'{json.dumps(start)}\n' for start in starts).encode()


def _command(command: str, run: Path) -> str:
    """Return a command without the paths of its machine. Args: run, its folder in the archive."""
    program, *words = shlex.split(command)
    name = PurePath(program).name
    return shlex.join(['python' if name.startswith('python') else name, *(_word(word, run) for word in words)])


def _word(word: str, run: Path) -> str:
    if word.startswith('--workdir='):
        return f'--workdir={Path("runs") / run}'
    return '/'.join(PurePath(word).parts[-2:]) if word.startswith('/') and word.endswith('.py') else word


def _files(run: Path) -> tuple[Path, ...]:
    workdir = Workdir(run)
    return workdir.config, workdir.declarations, workdir.metrics, workdir.provenance
