# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parser of the HLO text of a compiled program, with the number of times that each instruction runs.

The compiler annotates the trip count of a loop; the TPU's compiler does not, but its loops count from 0 up to a
constant. A loop whose end depends on data counts once; the additional rounds of an expert-parallel mixture with uneven
loads do not count.
"""

import functools
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from saccade.ops.expert_parallel import UNEVEN

_COMPUTATION = re.compile(r'^(?P<entry>ENTRY )?%?(?P<name>[\w.\-]+) \(.*\{$')
_INSTRUCTION = re.compile(r'^\s+(?P<root>ROOT )?%?(?P<name>[\w.\-]+) = (?P<shape>.+?) (?P<kind>[\w\-]+)\((?P<rest>.*)$')
_CALLED = re.compile(r'(?:condition|body|calls|to_apply|\w+_computations?)=(?:\{(?P<many>[^}]*)\}|%?(?P<one>[\w.\-]+))')
_OPERAND = re.compile(r'(?:\w+\[[\d,]*\](?:\{[^}]*\})? )?%?(?P<name>[\w.\-]+)')  # some compilers also write its shape
_ANNOTATION = re.compile(r'/\*.*?\*/|\[[^\]]*\]|\{[^}]*\}|\([^)]*\)')  # an operand's number, sizes, layout, tuple
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_CONDITION = re.compile(r'condition=%?([\w.\-]+)')
_BELOW = re.compile(r'ROOT .* compare\([^,]+, (?:\S+ )?%?([\w.\-]+)\), direction=LT')
_CONSTANT = re.compile(r'^\s+%?(?P<name>[\w.\-]+) = \S+ constant\((?P<value>\d+)\)')
_ARRAY = re.compile(r'\b(?P<kind>pred|[a-z]+(?P<bits>\d+)\w*)\[(?P<sizes>[\d,]*)\]')
_CONTROL = ('while', 'conditional', 'call')  # instructions that run other computations
_DEVICES = re.compile(r'\b(?:num_partitions|replica_count)=(\d+)')


@dataclass(frozen=True)
class Instruction:
    """HLO instruction.

    Attributes: its computation; its name there; shape of its result; kind; its operands and attributes, as text;
    is the root of its computation.
    """

    within: str
    name: str
    shape: str
    kind: str
    rest: str
    root: bool

    def called(self) -> Iterator[str]:
        """Yield the names of the computations that it runs."""
        for found in _CALLED.finditer(self.rest):
            yield from (name.strip().lstrip('%') for name in (found['many'] or found['one']).split(','))

    def operands(self) -> list[str]:
        """Return the names of its operands, in order."""
        depth, end = 0, 0
        while end < len(self.rest) and (depth or self.rest[end] != ')'):
            depth += (self.rest[end] in '([{') - (self.rest[end] in ')]}')
            end += 1
        inside = _ANNOTATION.sub('', self.rest[:end])
        return [part.split()[-1].lstrip('%') for part in inside.split(',') if part.strip()]


@dataclass(frozen=True, eq=False)
class Program:
    """HLO program. Attributes: lines of each computation, by name; name of the entry; total number of devices."""

    computations: Mapping[str, list[str]]
    entry: str
    devices: int

    @classmethod
    def of(cls, text: str) -> 'Program':
        """Parse a compiled program."""
        computations: dict[str, list[str]] = {}
        entry = name = ''
        for line in text.splitlines():
            if begun := _COMPUTATION.match(line):
                name = begun['name']
                computations[name] = []
                entry = name if begun['entry'] else entry
            elif name:
                computations[name].append(line)
        return cls(computations, entry, math.prod(map(int, _DEVICES.findall(text.partition('\n')[0]))))

    def runs(self) -> Iterator[tuple[Instruction, int]]:
        """Yield every instruction from the entry computation on, with the number of times that it runs."""
        return self._runs(self.entry, 1)

    def kernels(self) -> Iterator[tuple[Instruction, int]]:
        """Yield every instruction outside fusions, with the number of times that it runs."""
        return self._runs(self.entry, 1, _CONTROL)

    def instructions(self, name: str) -> Mapping[str, Instruction]:
        """Return the instructions of a computation by name."""
        return {each.name: each for each in map(partial(_read, name), self.computations.get(name, ())) if each}

    def shape(self, within: str, name: str) -> str:
        """Return the shape of an instruction's result."""
        return self._shapes[within][name]

    def first_operand(self, instruction: Instruction) -> str:
        """Return the shape of an instruction's first operand."""
        return self._shapes[instruction.within][_OPERAND.match(instruction.rest)['name']]

    def _runs(self, name: str, times: int, into: Collection[str] = ()) -> Iterator[tuple[Instruction, int]]:
        for instruction in self.instructions(name).values():
            yield instruction, times
            if into and instruction.kind not in into:
                continue
            again = self._trips(instruction.rest) if instruction.kind == 'while' else 1
            for inner in instruction.called():
                yield from self._runs(inner, times * again, into)

    def _trips(self, rest: str) -> int:
        """Return the trip count of a loop."""
        if UNEVEN in rest:
            return 0
        if known := _TRIPS.search(rest):
            return int(known[1])
        lines = self.computations.get(_CONDITION.search(rest)[1], ())
        constants = {found['name']: int(found['value']) for found in map(_CONSTANT.match, lines) if found}
        return next((constants.get(found[1], 1) for found in map(_BELOW.search, lines) if found), 1)

    @functools.cached_property
    def _shapes(self) -> Mapping[str, Mapping[str, str]]:
        """Return the shapes of the results within each computation, by name."""
        found = {name: filter(None, map(_INSTRUCTION.match, lines)) for name, lines in self.computations.items()}
        return {name: {each['name']: each['shape'] for each in within} for name, within in found.items()}


def _read(within: str, line: str) -> Instruction | None:
    """Return the instruction of a line, or None."""
    if not (found := _INSTRUCTION.match(line)):
        return None
    return Instruction(within, found['name'], found['shape'], found['kind'], found['rest'], bool(found['root']))


def sizes(shape: str) -> list[int]:
    """Return the sizes of the axes of an array."""
    return numbers(_ARRAY.search(shape)['sizes'])


def numbers(text: str) -> list[int]:
    """Return the numbers of a comma-separated list."""
    return [int(number) for number in text.split(',') if number]


def bytes_of(shape: str) -> int:
    """Return the bytes of all arrays of a shape, without the scalars in the results of asynchronous instructions."""
    arrays = [array for array in _ARRAY.finditer(shape) if array['sizes'] or not shape.startswith('(')]
    return sum(math.prod(numbers(array['sizes'])) * int(array['bits'] or 8) // 8 for array in arrays)
