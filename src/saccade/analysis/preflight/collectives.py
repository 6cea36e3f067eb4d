# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a compiled program sends between devices, read off its HLO.

Bytes are those that a device sends when the n devices of a group pass them around in a ring, of a buffer of S bytes:

    all-reduce 2 S (n-1)/n     all-gather, reduce-scatter, all-to-all S (n-1)/n     collective-permute S

where S is the whole that is gathered, or scattered (Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective
Communication Operations in MPICH", https://doi.org/10.1177/1094342005051521).

The TPU's compiler spreads a collective over several fusions, to compute meanwhile: these share a channel, and are one
collective. Outside of fusions those of a `shard_map` share one too, and are several; so do permutations everywhere.

Devices are numbered in the order of a mesh: what differs between those of a group, or between sender and receiver,
are the axes of the mesh that a collective goes along.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from saccade.analysis.preflight.hlo import Instruction, Program, bytes_of, numbers

_CHANNEL = re.compile(r'channel_id=(\d+)')
# Groups are listed, are so many of one size, or lie along some axes of a mesh, whole or in part.
_GROUPS = re.compile(
    r'replica_groups=(?:\{\{(?P<listed>[\d,]*)\}|\[\d+,(?P<each>\d+)\]|mesh\[(?P<axes>[^\]]*)\][^{]*\{(?P<along>[^}]*)\})'
)
_IOTA = re.compile(r'replica_groups=\[(?P<shape>[\d,]+)\]<=\[(?P<sizes>[\d,]+)\](?:T\((?P<turned>[\d,]+)\))?')
_MESH = re.compile(
    r'replica_groups=mesh\[(?P<axes>[^\]]*)\][^{]*?'
    r'(?:\(\[(?P<sizes>[\d,]+)\]T\((?P<turned>[\d,]+)\)\))? \{(?P<along>[^}]*)\}'
)
_LISTED = re.compile(r'(?:replica_groups|source_target_pairs)=\{(?P<groups>\{[\d,{}]*\})\}')
_AXIS = re.compile(r"'(?P<name>[^']+)'(?:=(?P<size>\d+)|:\((?P<before>\d+)\)(?P<part>\d+))?")

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

    Attributes: of one kind of collective, how many a step runs, and the bytes that a device sends in them; along which
    axes of the mesh, as 'data, fsdp', empty where no mesh is known.
    """

    kind: str
    count: int
    bytes: int
    along: str = ''


@dataclass(frozen=True)
class _Run:
    """Attributes: kind of a collective; how often it runs, and the bytes sent each time; along which axes."""

    kind: str
    times: int
    bytes: float
    along: str


def collectives(hlo: str, mesh: Mapping[str, int] | None = None) -> list[Sent]:
    """What each device sends in one run of a compiled program, given as text; the most bytes first.

    Args:
        mesh: devices along each of its axes, in order; None where it does not matter.
    """
    found: dict[tuple[str, str], tuple[int, float]] = {}
    for run in _by_channel(Program.of(hlo), mesh or {}).values():
        count, sent = found.get((run.kind, run.along), (0, 0.0))
        found[run.kind, run.along] = count + run.times, sent + run.times * run.bytes
    sums = [Sent(kind, count, round(sent), along) for (kind, along), (count, sent) in found.items()]
    return sorted(sums, key=lambda each: -each.bytes)


def by_kind(sent: Iterable[Sent]) -> dict[str, int]:
    """Add up the bytes of each kind, whatever axes they are sent along."""
    sums: dict[str, int] = {}
    for each in sent:
        sums[each.kind] = sums.get(each.kind, 0) + each.bytes
    return sums


def _by_channel(program: Program, mesh: Mapping[str, int]) -> dict[Any, _Run]:
    """Return the collectives in fusions by channel; one without a channel, or in no fusion, has a key of its own."""
    once: dict[Any, _Run] = {}
    outside = {kernel.within for kernel, _ in program.kernels()}
    for instruction, times in program.runs():
        kind = instruction.kind.removesuffix('-start')
        if kind not in _SENT or not times:
            continue
        alone = kind == 'collective-permute' or instruction.within in outside
        found = None if alone else _CHANNEL.search(instruction.rest)
        channel = found[1] if found else object()
        run = _Run(kind, times, _sent(kind, instruction, program.devices), _along(instruction.rest, mesh))
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


def _along(rest: str, mesh: Mapping[str, int]) -> str:
    """The axes of the mesh that a collective goes along, in the order of the mesh."""
    if not mesh or not (groups := _listed(rest)):
        return ', '.join(name for name, size in mesh.items() if size > 1)  # all devices are one group
    places = [np.stack(np.unravel_index(group, tuple(mesh.values()))) for group in groups]
    differs = np.any([(place != place[:, :1]).any(axis=1) for place in places], axis=0)
    return ', '.join(name for name, other in zip(mesh, differs, strict=True) if other)


def _listed(rest: str) -> list[list[int]]:
    """The devices of each group, or of each sender with its receiver; nothing where there is but one group."""
    if found := _IOTA.search(rest):
        shape, sizes = numbers(found['shape']), numbers(found['sizes'])
        order = numbers(found['turned']) if found['turned'] else range(len(sizes))
        return np.arange(math.prod(sizes)).reshape(sizes).transpose(order).reshape(shape).tolist()
    if found := _MESH.search(rest):
        return _on_mesh(found)
    if found := _LISTED.search(rest):
        return [numbers(group) for group in found['groups'].strip('{}').split('},{')]
    return []


def _on_mesh(found: re.Match[str]) -> list[list[int]]:
    """The devices of each group, which lie along some axes of a mesh of the compiler's own, whole or in part."""
    sizes = {axis['name']: int(axis['size']) for axis in _AXIS.finditer(found['axes'])}
    ids = np.arange(math.prod(sizes.values()))
    if found['sizes']:
        ids = ids.reshape(numbers(found['sizes'])).transpose(numbers(found['turned']))
    along = {axis['name']: axis for axis in _AXIS.finditer(found['along'])}
    shape, inside = [], []
    for name, size in sizes.items():
        axis = along.get(name)
        cut = (int(axis['before']), int(axis['part'])) if axis and axis['part'] else (1, size)
        inside += [False, axis is not None, False]
        shape += [*cut, size // math.prod(cut)]
    order = np.argsort(inside, kind='stable')
    members = math.prod(size for size, is_in in zip(shape, inside, strict=True) if is_in)
    return ids.reshape(shape).transpose(order).reshape(-1, members).tolist()
