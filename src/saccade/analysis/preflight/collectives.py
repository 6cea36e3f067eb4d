# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a compiled program sends between devices, read off its HLO.

Bytes are those that a device sends when the n devices of a group pass them around in a ring, of a buffer of S bytes:

    all-reduce 2 S (n-1)/n     all-gather, reduce-scatter, all-to-all S (n-1)/n     collective-permute S

where S is the whole that is gathered, or scattered (Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective
Communication Operations in MPICH", https://doi.org/10.1177/1094342005051521).

The TPU's compiler spreads a collective over several fusions, to compute meanwhile: these share a channel, and are one
collective. Outside of fusions those of a `shard_map` share one too, and are several.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

from saccade.analysis.preflight.hlo import Instruction, Program, bytes_of

_CHANNEL = re.compile(r'channel_id=(\d+)')
# Groups are listed, are so many of one size, or lie along some axes of a mesh, whole or in part.
_GROUPS = re.compile(
    r'replica_groups=(?:\{\{(?P<listed>[\d,]*)\}|\[\d+,(?P<each>\d+)\]|mesh\[(?P<axes>[^\]]*)\][^{]*\{(?P<along>[^}]*)\})'
)
_AXIS = re.compile(r"'(?P<name>[^']+)'(?:=(?P<size>\d+)|:\(\d+\)(?P<part>\d+))?")

# By the bytes of the result, and the devices of a group.
_SENT = {
    'all-reduce': lambda result, n: 2 * result * (n - 1) / n,
    'all-gather': lambda result, n: result * (n - 1) / n,
    'reduce-scatter': lambda result, n: result * (n - 1),
    'all-to-all': lambda result, n: result * (n - 1) / n,
    'collective-permute': lambda result, n: result,
}


@dataclass(frozen=True)
class Sent:
    """Traffic of a device by one kind of collective.

    Attributes: of one kind of collective, how many a step runs, and the bytes that a device sends in them.
    """

    kind: str
    count: int
    bytes: int


@dataclass(frozen=True)
class _Run:
    """Attributes: kind of a collective; how often it runs, and the bytes sent each time."""

    kind: str
    times: int
    bytes: float


def collectives(hlo: str) -> list[Sent]:
    """What each device sends in one run of a compiled program, given as text; the most bytes first."""
    found: dict[str, tuple[int, float]] = {}
    for run in _by_channel(Program.of(hlo)).values():
        count, sent = found.get(run.kind, (0, 0.0))
        found[run.kind] = count + run.times, sent + run.times * run.bytes
    sums = [Sent(kind, count, round(sent)) for kind, (count, sent) in found.items()]
    return sorted(sums, key=lambda each: -each.bytes)


def _by_channel(program: Program) -> dict[Any, _Run]:
    """Return the collectives in fusions by channel; one without a channel, or in no fusion, has a key of its own."""
    once: dict[Any, _Run] = {}
    outside = {kernel.within for kernel, _ in program.kernels()}
    for instruction, times in program.runs():
        kind = instruction.kind.removesuffix('-start')
        if kind not in _SENT or not times:
            continue
        found = None if instruction.within in outside else _CHANNEL.search(instruction.rest)
        channel = found[1] if found else object()
        run = _Run(kind, times, _sent(kind, instruction, program.devices))
        # Of the fusions of one collective, some stand in a loop that runs meanwhile; its start does not.
        once[channel] = min(run, once.get(channel, run), key=lambda each: each.times)
    return once


def _sent(kind: str, instruction: Instruction, devices: int) -> float:
    n, result = _group(instruction.rest, devices), bytes_of(instruction.shape)
    # An asynchronous one may have beside its result what it is given.
    given = {'all-gather-start': n / (n + 1), 'collective-permute-start': 1 / 2}
    return _SENT[kind](result * given.get(instruction.kind, 1.0), n)


def _group(rest: str, devices: int) -> int:
    """How many devices take part together."""
    if not (found := _GROUPS.search(rest)):
        return devices
    if found['axes'] is not None:
        sizes = {axis['name']: axis['size'] for axis in _AXIS.finditer(found['axes'])}
        return math.prod(int(axis['part'] or sizes[axis['name']]) for axis in _AXIS.finditer(found['along']))
    return int(found['each']) if found['each'] else len(found['listed'].split(','))
