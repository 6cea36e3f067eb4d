# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Provenance of a run: its code, libraries, machine, command, start, end and final status.

A line of provenance.jsonl is one start of the run, so a run that was resumed twice has three. The whole file is
replaced when a run starts and when it ends. A process that is killed in between leaves the status 'running' and no end.
"""

import importlib.metadata
import itertools
import json
import os
import platform
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import flax
import jax
import jaxlib

import saccade
from saccade.paths import RECORD_BYTES, read_regular
from saccade.train.log.command import git, output
from saccade.train.log.own_code import changed, own_code
from saccade.train.workdir import Workdir, write_atomically, writing
from saccade.types import UserError

_CPU_MODELS = ('model name', 'Model', 'cpu model')  # fields of /proc/cpuinfo, by architecture
_NUMBERS = ('clean', 'devices', 'processes', 'cores')  # fields of a record that are not texts
_LONGEST = 500  # characters of an error


@contextmanager
def recorded(file: Path, config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Keep a record of this start of a run, and complete it at the end. Only process 0 writes.

    The body sets the `status` of the yielded record to 'finished' or 'stopped'; an exception makes it 'failed'.

    Args:
        file: the run's provenance.jsonl; earlier starts stay in it.
        config: of the run; its modules from outside the package are recorded.

    Raises:
        UserError: the disk is full or cannot be written to. An exception of the body has priority.
    """
    if jax.process_index() > 0:
        yield {}
        return
    with writing(file.parent):
        earlier = _lines(file)
    record = provenance(config)
    _write(file, earlier, record)
    try:
        yield record
    except BaseException as error:
        record.update(status='failed', error=f'{type(error).__name__}: {error}'.rstrip(': ')[:_LONGEST])
        with suppress(UserError, OSError):
            _write(file, earlier, {**record, 'end': _now()})
        raise
    _write(file, earlier, {**record, 'end': _now()})


def provenance(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts on this process and on the code that a config names; None for unknown ones.

    commit and clean describe the repository of the package: clean is True if no tracked file has changed, and the
    package contains no untracked file. An installed package has neither. modules is the code from outside the package
    (`own_code`).
    """
    commit, clean = _commit(Path(saccade.__file__).parent)
    devices, version = jax.devices(), None
    with suppress(importlib.metadata.PackageNotFoundError):
        version = importlib.metadata.version('saccade')
    return {
        'saccade': version,
        'commit': commit,
        'clean': clean,
        'modules': own_code(config),
        'jax': jax.__version__,
        'jaxlib': jaxlib.__version__,
        'flax': flax.__version__,
        'python': platform.python_version(),
        'device': devices[0].device_kind,
        'devices': len(devices),
        'processes': jax.process_count(),
        'processor': processor(),
        'cores': cores(),
        'host': platform.node() or None,
        'command': shlex.join(sys.orig_argv),
        'start': _now(),
        'status': 'running',
    }


def cores() -> int | None:
    """Return the number of cores that this process may use; None if the system does not tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()


def processor() -> str | None:
    """Return the name of the CPU, or of its architecture if the system does not name the CPU.

    An x86 processor is named with its family and model numbers: a virtual machine may hide the rest ("AMD EPYC").
    """
    found = {}
    with suppress(OSError), open('/proc/cpuinfo', encoding='utf-8', errors='replace') as file:
        lines = itertools.takewhile(str.strip, file)  # of the first core
        found = {name.strip(): text.strip() for name, _, text in (line.partition(':') for line in lines)}
    if 'cpu family' in found:
        return f'{found.get("model name", "x86")} (family {found["cpu family"]}, model {found.get("model")})'
    named = next((found[name] for name in _CPU_MODELS if name in found), None)
    if named is None and sys.platform == 'darwin':
        named = output(['sysctl', '-n', 'machdep.cpu.brand_string'])
    return named.strip() if named else platform.machine() or None


def read(file: Path) -> list[dict[str, Any]]:
    """Return the starts of a run, oldest first; empty if there is no file. Damaged records are left out."""
    records = []
    for line in _lines(file):
        with suppress(ValueError):
            records.append(json.loads(line))
    return [
        {name: value for name, value in record.items() if _is_valid(name, value)}
        for record in records
        if isinstance(record, dict)
    ]


def changed_code(workdir: Workdir, config: Mapping[str, Any]) -> str | None:
    """Return one line that names the user's own files that have changed since the run's last start, if any."""
    starts = read(workdir.provenance)
    files = changed(config, starts[-1].get('modules', {})) if starts else []
    return f'{workdir.path}: code that the run was trained with has changed: {", ".join(files)}' if files else None


def _is_valid(name: str, value: Any) -> bool:
    if name != 'modules':
        return isinstance(value, int if name in _NUMBERS else str)
    facts = value.values() if isinstance(value, dict) else [None]
    return all(isinstance(of, dict) and all(isinstance(text, str) for text in of.values()) for of in facts)


def _commit(package: Path) -> tuple[str | None, bool | None]:
    """Return the commit of a package, and whether it is unchanged since; None if git does not track it."""
    asked = git(package, 'rev-parse', '--show-prefix', 'HEAD', 'HEAD:./__init__.py')
    if asked is None:
        return None, None
    *prefix, commit, _ = asked.splitlines()
    status = git(package, 'status', '--porcelain', '-z')
    if status is None:
        return commit, None
    changes, unknown = [entry for entry in status.split('\0') if entry], '?? ' + '\n'.join(prefix)
    return commit, not any(not entry.startswith('?? ') or entry.startswith(unknown) for entry in changes)


def _lines(file: Path) -> list[bytes]:
    return read_regular(file, RECORD_BYTES).splitlines() if file.is_file() else []


def _write(file: Path, earlier: Sequence[bytes], record: dict[str, Any]) -> None:
    write_atomically(file, b''.join(line + b'\n' for line in (*earlier, json.dumps(record).encode())))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec='seconds')
