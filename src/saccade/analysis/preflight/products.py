# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""FLOPs of the matrix products in a compiled program, from its HLO: 2 x output elements x contracted size.

XLA's own `cost_analysis` counts the body of a loop once. A program for a CPU has its products as dots; a GPU's program
calls cuBLAS, and a TPU's converts them to convolutions, which are not parsed here.
"""

import math
import re

from saccade.analysis.preflight.hlo import Program, numbers, sizes

_SUMMED = re.compile(r'lhs_contracting_dims=\{([\d,]*)\}')


def product_flops(hlo: str) -> int:
    """Return the FLOPs of one run of a CPU program, given as text."""
    program = Program.of(hlo)
    flops = 0
    for each, times in program.runs():
        if each.kind == 'dot':
            left = sizes(program.first_operand(each))
            summed = numbers(found[1]) if (found := _SUMMED.search(each.rest)) else []
            flops += times * 2 * math.prod(sizes(each.shape)) * math.prod(left[axis] for axis in summed)
    return flops
