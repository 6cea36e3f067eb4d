# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Communication between devices in a compiled program, from its HLO.

Bytes sent by a device, if the n devices of a group form a ring, for a buffer of S bytes:

    all-reduce 2 S (n-1)/n     all-gather, reduce-scatter, all-to-all S (n-1)/n     collective-permute S

where S is the size of the whole gathered or scattered buffer (Thakur, Rabenseifner, Gropp 2005, "Optimization of
Collective Communication Operations in MPICH", https://doi.org/10.1177/1094342005051521).

The TPU's compiler splits a collective over several fusions to overlap it with computation: these share a channel, and
are one collective. Outside fusions, the collectives of a `shard_map` also share a channel but are several, as are
permutations everywhere.

Devices are numbered in the order of the mesh: the mesh axes of a collective are the axes whose indices differ within a
group, or between sender and receiver.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from saccade.analysis.preflight.hlo import Instruction, Program, bytes_of, numbers

_CHANNEL = re.compile(r'channel_id=(\d+)')
# Groups are listed, are given by number and size, or lie along some axes of a mesh, whole or in part.
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

# Bytes sent, as a function of the bytes of the result and the number of devices of a group.
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

    Attributes: kind of collective; number per step; bytes that a device sends in them; mesh axes, such as
    'data, fsdp', empty if the mesh is unknown.
    """

    kind: str
    count: int
    bytes: int
    along: str = ''


@dataclass(frozen=True)
class _Run:
    """Attributes: kind of a collective; number of times it runs; bytes sent each time; its mesh axes."""

    kind: str
    times: int
    bytes: float
    along: str


def collectives(hlo: str, mesh: Mapping[str, int] | None = None) -> list[Sent]:
    """Return the bytes that each device sends in one run of a compiled program, largest first.

    Args:
        hlo: text of the program.
        mesh: number of devices along each mesh axis, in order; None to ignore axes.
    """
    found: dict[tuple[str, str], tuple[int, float]] = {}
    for run in _by_channel(Program.of(hlo), mesh or {}).values():
        count, sent = found.get((run.kind, run.along), (0, 0.0))
        found[run.kind, run.along] = count + run.times, sent + run.times * run.bytes
    sums = [Sent(kind, count, round(sent), along) for (kind, along), (count, sent) in found.items()]
    return sorted(sums, key=lambda each: -each.bytes)


def by_kind(sent: Iterable[Sent]) -> dict[str, int]:
    """Sum the bytes of each kind over all axes."""
    sums: dict[str, int] = {}
    for each in sent:
        sums[each.kind] = sums.get(each.kind, 0) + each.bytes
    return sums


def _by_channel(program: Program, mesh: Mapping[str, int]) -> dict[Any, _Run]:
    """Return the collectives in fusions by channel; one without a channel or outside fusions has its own key."""
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
        # Some fusions of a collective are in an overlapping loop; its start is not.
        once[channel] = min(run, once.get(channel, run), key=lambda each: each.times)
    return once


def _sent(kind: str, instruction: Instruction, devices: int) -> float:
    n, result = _group(instruction.rest, devices), bytes_of(instruction.shape)
    # The result of an asynchronous collective may include its operand.
    given = {'all-gather-start': n / (n + 1), 'collective-permute-start': 1 / 2}
    return _SENT[kind](result * given.get(instruction.kind, 1.0), n)


def _group(rest: str, devices: int) -> int:
    """Return the number of devices in a group."""
    if not (found := _GROUPS.search(rest)):
        return devices
    if found['axes'] is not None:
        sizes = {axis['name']: axis['size'] for axis in _AXIS.finditer(found['axes'])}
        return math.prod(int(axis['part'] or sizes[axis['name']]) for axis in _AXIS.finditer(found['along']))
    return int(found['each']) if found['each'] else len(found['listed'].split(','))


def _along(rest: str, mesh: Mapping[str, int]) -> str:
    """Return the mesh axes of a collective, in the order of the mesh."""
    if not mesh or not (groups := _listed(rest)):
        return ', '.join(name for name, size in mesh.items() if size > 1)  # all devices are one group
    places = [np.stack(np.unravel_index(group, tuple(mesh.values()))) for group in groups]
    differs = np.any([(place != place[:, :1]).any(axis=1) for place in places], axis=0)
    return ', '.join(name for name, other in zip(mesh, differs, strict=True) if other)


def _listed(rest: str) -> list[list[int]]:
    """Return the devices of each group, or each sender with its receiver; empty for a single group."""
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
    """Return the devices of each group, which lie along some axes of the compiler's own mesh, whole or in part."""
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
