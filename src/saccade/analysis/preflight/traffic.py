# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Memory traffic of a compiled program, from its HLO: bytes that its kernels read and write.

A fusion is one kernel: its intermediates stay on the chip. If a kernel only slices an array, only the slices are read;
if it updates an array in place, only the update is written. Caches, which may save reading the previous kernel's
output, are not modelled.
"""

from collections.abc import Mapping

from saccade.analysis.preflight.hlo import Instruction, Program, bytes_of

_FREE = frozenset((
    *('parameter', 'constant', 'iota', 'tuple', 'get-tuple-element', 'bitcast', 'after-all', 'partition-id'),
    *('replica-id', 'while', 'conditional', 'call', 'async-done', 'copy-done'),
    *('all-gather-done', 'all-reduce-done', 'collective-permute-done'),
))  # fmt: skip
_SLICES = frozenset(('slice', 'dynamic-slice', 'gather'))
_UPDATE = 'dynamic-update-slice'


def traffic(hlo: str) -> int:
    """Return the bytes that one device reads from its memory and writes to it in one run of a program."""
    program = Program.of(hlo)
    return sum(times * _moved(program, each) for each, times in program.kernels() if each.kind not in _FREE)


def _moved(program: Program, kernel: Instruction) -> int:
    shapes = [program.shape(kernel.within, name) for name in kernel.operands()]
    if kernel.kind in _SLICES:
        return 2 * bytes_of(kernel.shape)
    if kernel.kind == _UPDATE:
        return 2 * bytes_of(shapes[1])
    if kernel.kind != 'fusion':
        return bytes_of(kernel.shape) + sum(map(bytes_of, shapes))
    inside = program.instructions(next(kernel.called()))
    parameters = {int(each.operands()[0]): name for name, each in inside.items() if each.kind == 'parameter'}
    return _written(kernel, inside) + sum(_read(inside, parameters[at], shape) for at, shape in enumerate(shapes))


def _read(inside: Mapping[str, Instruction], parameter: str, shape: str) -> int:
    """Return the bytes that a fusion reads from one of its operands."""
    uses = [(each, each.operands().index(parameter)) for each in inside.values() if parameter in each.operands()]
    if uses and all(each.kind in (*_SLICES, _UPDATE) and at == 0 for each, at in uses):
        return sum(bytes_of(each.shape) for each, _ in uses if each.kind in _SLICES)
    return bytes_of(shape)


def _written(kernel: Instruction, inside: Mapping[str, Instruction]) -> int:
    """Return the bytes that a fusion writes."""
    root = next(each for each in inside.values() if each.root)
    while root.kind == 'bitcast':
        root = inside[root.operands()[0]]
    made = [inside[name] for name in root.operands()] if root.kind == 'tuple' else [root]
    return sum(bytes_of(inside[each.operands()[1]].shape if each.kind == _UPDATE else each.shape) for each in made)
