# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a compiled program sends between devices, read off its HLO, with every loop as often as it runs.

Bytes are those that a device sends when the n devices of a group pass them around in a ring, of a buffer of S bytes:

    all-reduce 2 S (n-1)/n     all-gather, reduce-scatter, all-to-all S (n-1)/n     collective-permute S

where S is the whole that is gathered, or scattered (Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective
Communication Operations in MPICH", https://doi.org/10.1177/1094342005051521).

A loop runs as often as the compiler wrote beside it; the TPU's writes nothing, but counts from 0 up to a constant. A
loop whose end depends on data counts once. The TPU's also spreads a collective over several fusions, to compute
meanwhile: these share a channel, and are one collective.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_COMPUTATION = re.compile(r'^(?P<entry>ENTRY )?%?(?P<name>[\w.\-]+) \(.*\{$')
_INSTRUCTION = re.compile(r'^\s+(?:ROOT )?%?[\w.\-]+ = (?P<shape>.+?) (?P<kind>[\w\-]+)\((?P<rest>.*)$')
_CALLED = re.compile(r'(?:condition|body|calls|to_apply|\w+_computations?)=(?:\{(?P<many>[^}]*)\}|%?(?P<one>[\w.\-]+))')
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_CONDITION = re.compile(r'condition=%?([\w.\-]+)')
_BELOW = re.compile(r'ROOT .* compare\([^,]+, (?:\S+ )?%?([\w.\-]+)\), direction=LT')
_CONSTANT = re.compile(r'^\s+%?(?P<name>[\w.\-]+) = \S+ constant\((?P<value>\d+)\)')
_CHANNEL = re.compile(r'channel_id=(\d+)')
_ARRAY = re.compile(r'\b(?P<kind>pred|[a-z]+(?P<bits>\d+)\w*)\[(?P<sizes>[\d,]*)\]')
# Groups are listed, are so many of one size, or lie along some axes of a mesh, whole or in part.
_GROUPS = re.compile(
    r'replica_groups=(?:\{\{(?P<listed>[\d,]*)\}|\[\d+,(?P<each>\d+)\]|mesh\[(?P<axes>[^\]]*)\][^{]*\{(?P<along>[^}]*)\})'
)
_AXIS = re.compile(r"'(?P<name>[^']+)'(?:=(?P<size>\d+)|:\(\d+\)(?P<part>\d+))?")
_DEVICES = re.compile(r'\b(?:num_partitions|replica_count)=(\d+)')

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
    """Attributes: of one kind of collective, how many a step runs, and the bytes that a device sends in them."""

    kind: str
    count: int
    bytes: int


def collectives(hlo: str) -> list[Sent]:
    """What each device sends in one run of a compiled program, given as text; the most bytes first."""
    program = _Program.of(hlo)
    found = [Sent(kind, count, round(sent)) for kind, (count, sent) in program.total().items()]
    return sorted(found, key=lambda each: -each.bytes)


@dataclass(frozen=True)
class _Run:
    """Attributes: channel of a collective, which is its own; kind; how often it runs, and the bytes sent each time."""

    channel: Any
    kind: str
    times: int
    bytes: float


@dataclass(frozen=True, eq=False)
class _Program:
    """Attributes: the lines of each computation, by name; which comes first; devices in all."""

    computations: Mapping[str, list[str]]
    entry: str
    devices: int

    @classmethod
    def of(cls, hlo: str) -> '_Program':
        computations: dict[str, list[str]] = {}
        entry = name = ''
        for line in hlo.splitlines():
            if begun := _COMPUTATION.match(line):
                name = begun['name']
                computations[name] = []
                entry = name if begun['entry'] else entry
            elif name:
                computations[name].append(line)
        return cls(computations, entry, math.prod(map(int, _DEVICES.findall(hlo.partition('\n')[0]))))

    def total(self) -> dict[str, tuple[int, float]]:
        """How often each kind is run, and the bytes sent, from the first computation on."""
        once: dict[Any, _Run] = {}
        for run in self._runs(self.entry, 1):
            # Of the fusions of one collective, some stand in a loop that runs meanwhile; its start does not.
            known = once.get(run.channel, run)
            once[run.channel] = min(run, known, key=lambda each: each.times)
        found: dict[str, tuple[int, float]] = {}
        for run in once.values():
            count, sent = found.get(run.kind, (0, 0.0))
            found[run.kind] = count + run.times, sent + run.times * run.bytes
        return found

    def _runs(self, name: str, times: int) -> Iterator['_Run']:
        """The collectives of a computation that runs so many times, and of those that it calls."""
        for instruction in filter(None, map(_INSTRUCTION.match, self.computations.get(name, ()))):
            rest = instruction['rest']
            if (kind := instruction['kind'].removesuffix('-start')) in _SENT:
                channel = found[1] if (found := _CHANNEL.search(rest)) else object()
                yield _Run(channel, kind, times, self._sent(kind, instruction))
                continue  # what it calls adds two numbers
            again = self._trips(rest) if instruction['kind'] == 'while' else 1
            for inner in _called(rest):
                yield from self._runs(inner, times * again)

    def _trips(self, rest: str) -> int:
        """How often a loop runs."""
        if known := _TRIPS.search(rest):
            return int(known[1])
        lines = self.computations.get(_CONDITION.search(rest)[1], ())
        constants = {found['name']: int(found['value']) for found in map(_CONSTANT.match, lines) if found}
        return next((constants.get(found[1], 1) for found in map(_BELOW.search, lines) if found), 1)

    def _sent(self, kind: str, instruction: re.Match[str]) -> float:
        n, result = self._group(instruction['rest']), _bytes(instruction['shape'])
        # An asynchronous one may have beside its result what it is given.
        given = {'all-gather-start': n / (n + 1), 'collective-permute-start': 1 / 2}
        return _SENT[kind](result * given.get(instruction['kind'], 1.0), n)

    def _group(self, rest: str) -> int:
        """How many devices take part together."""
        if not (found := _GROUPS.search(rest)):
            return self.devices
        if found['axes'] is not None:
            sizes = {axis['name']: axis['size'] for axis in _AXIS.finditer(found['axes'])}
            return math.prod(int(axis['part'] or sizes[axis['name']]) for axis in _AXIS.finditer(found['along']))
        return int(found['each']) if found['each'] else len(found['listed'].split(','))


def _called(rest: str) -> Iterator[str]:
    for found in _CALLED.finditer(rest):
        yield from (name.strip().lstrip('%') for name in (found['many'] or found['one']).split(','))


def _bytes(shape: str) -> int:
    """Bytes of all arrays of a shape; the single numbers beside them, as an asynchronous result has, do not count."""
    arrays = [array for array in _ARRAY.finditer(shape) if array['sizes'] or not shape.startswith('(')]
    return sum(_size(array['sizes']) * int(array['bits'] or 8) // 8 for array in arrays)


def _size(sizes: str) -> int:
    return math.prod(int(size) for size in sizes.split(',') if size)
