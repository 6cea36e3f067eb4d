# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a compiled program sends between devices, read off its HLO, with every loop as often as it runs.

Bytes are those that a device sends when the n devices of a group pass them around in a ring, of a buffer of S bytes:

    all-reduce 2 S (n-1)/n     all-gather, reduce-scatter, all-to-all S (n-1)/n     collective-permute S

where S is the whole that is gathered, or scattered (Thakur, Rabenseifner, Gropp 2005, "Optimization of Collective
Communication Operations in MPICH", https://doi.org/10.1177/1094342005051521).
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

_COMPUTATION = re.compile(r'^(?P<entry>ENTRY )?%?(?P<name>[\w.\-]+) \(.*\{$')
_INSTRUCTION = re.compile(r'^\s+(?:ROOT )?%?[\w.\-]+ = (?P<shape>.+?) (?P<kind>[\w\-]+)\((?P<rest>.*)$')
_CALLED = re.compile(r'(?:condition|body|calls|to_apply|\w+_computations?)=(?:\{(?P<many>[^}]*)\}|%?(?P<one>[\w.\-]+))')
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
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

        @cache
        def of(name: str) -> dict[str, tuple[int, float]]:
            found: dict[str, tuple[int, float]] = {}
            for instruction in filter(None, map(_INSTRUCTION.match, self.computations.get(name, ()))):
                if (kind := instruction['kind'].removesuffix('-start')) in _SENT:
                    _add(found, {kind: (1, self._sent(kind, instruction))})
                    continue  # what it calls adds two numbers
                times = int(known[1]) if (known := _TRIPS.search(instruction['rest'])) else 1
                for inner in _called(instruction['rest']):
                    _add(found, of(inner), times)
            return found

        return of(self.entry)

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


def _add(found: dict[str, tuple[int, float]], more: Mapping[str, tuple[int, float]], times: int = 1) -> None:
    for kind, (count, sent) in more.items():
        before = found.get(kind, (0, 0.0))
        found[kind] = before[0] + times * count, before[1] + times * sent


def _called(rest: str) -> Iterator[str]:
    for found in _CALLED.finditer(rest):
        yield from (name.strip().lstrip('%') for name in (found['many'] or found['one']).split(','))


def _bytes(shape: str) -> int:
    """Bytes of all arrays of a shape; the single numbers beside them, as an asynchronous result has, do not count."""
    arrays = [array for array in _ARRAY.finditer(shape) if array['sizes'] or not shape.startswith('(')]
    return sum(_size(array['sizes']) * int(array['bits'] or 8) // 8 for array in arrays)


def _size(sizes: str) -> int:
    return math.prod(int(size) for size in sizes.split(',') if size)
