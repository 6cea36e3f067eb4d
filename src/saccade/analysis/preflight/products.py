# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""FLOPs of the matrix products in a compiled program, from its HLO: 2 for each number times the axes summed over.

XLA's own `cost_analysis` counts what a loop repeats once. A CPU's program has its products as they are; a GPU's hands
them to cuBLAS, and a TPU's makes convolutions of them, which are not read here.
"""

import math
import re

from saccade.analysis.preflight.hlo import Program, numbers, sizes

_SUMMED = re.compile(r'lhs_contracting_dims=\{([\d,]*)\}')


def product_flops(hlo: str) -> int:
    """FLOPs of one run of a program of the CPU, given as text."""
    program = Program.of(hlo)
    flops = 0
    for each, times in program.runs():
        if each.kind == 'dot':
            left = sizes(program.first_operand(each))
            summed = numbers(found[1]) if (found := _SUMMED.search(each.rest)) else []
            flops += times * 2 * math.prod(sizes(each.shape)) * math.prod(left[axis] for axis in summed)
    return flops
