# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Profile of a step by operation, from a trace of `jax.profiler`."""

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from saccade.types import UserError

# These contain other operations, which count for themselves.
_CONTAINERS = ('while', 'call', 'conditional')
_GRAPH = 'command_buffer'  # XLA's name for a CUDA graph
_NAMED = re.compile(r'%?([\w.-]+) = .*?metadata=\{[^}]*?op_name="([^"]*)"')


@dataclass(frozen=True)
class Cost:
    """Time of an operation. Attributes: what it is; seconds in all; its share of all operations' time."""

    what: str
    seconds: float
    share: float


def costs(folder: Path, program: str) -> list[Cost]:
    """Add up the time of the operations in the newest trace of a folder, the costliest first.

    Args:
        program: the compiled program's text, which knows what each operation was in the source.

    Raises:
        UserError: there is no trace.
    """
    traces = sorted(folder.rglob('*.xplane.pb'), key=lambda path: path.stat().st_mtime)
    if not traces:
        raise UserError(f'{folder}: the profiler has left no trace')
    names = {_spelled(name): source for name, source in _NAMED.findall(program)}
    seconds: Counter[str] = Counter()
    for name, nanoseconds in _operations(traces[-1]):
        seconds[source(names.get(_spelled(name), name))] += nanoseconds / 1e9
    total = sum(seconds.values())
    return [Cost(what, taken, taken / total) for what, taken in seconds.most_common()]


def source(name: str) -> str:
    """An operation without the loops and methods around it, and without its number: 'jvp(Decoder)/layers/exp'."""
    name = re.sub(r'^jit\(\w+\)/|while/body/closed_call/|[._\d]+$', '', name)
    name = re.sub(r'(\w+)\.\w+/', r'\1/', name)  # module.method/, of the same module as the scope before or of another
    return re.sub(r'(?<!\w)(\w+)(\)*)/(?:\1/)+', r'\1\2/', name)


def _operations(trace: Path) -> Iterator[tuple[str, float]]:
    """Name and nanoseconds of each operation that ran on a device, or on the threads that stand for one."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', DeprecationWarning)  # JAX's types lack a __module__
        for plane in jax.profiler.ProfileData.from_file(str(trace)).planes:
            # A TPU has a line of operations, and others that sum them up; elsewhere each operation bears a mark.
            lines = list(plane.lines)
            for line in [line for line in lines if line.name == 'XLA Ops'] or lines:
                for event in line.events:
                    name = operation(event, line.name)
                    if name and not name.startswith(_CONTAINERS):
                        yield name, event.duration_ns


def _spelled(name: str) -> str:
    """A name as XLA spells it for a kernel, which has no points."""
    return name.replace('.', '_')


def operation(event: Any, line: str) -> str:
    """Return the operation of an event on a line of this name; empty if it is none."""
    name = dict(event.stats).get('hlo_op', '')
    if name.startswith(_GRAPH):  # a graph hides the operations of its kernels; XLA names its own kernels after them
        return event.name
    if name:
        return name
    return event.name.partition(' = ')[0].lstrip('%') if line == 'XLA Ops' else ''
