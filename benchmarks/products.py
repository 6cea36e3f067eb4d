# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Matrix products of a step on their own: how fast each library multiplies the same sizes, and what else a step takes.

A product is (batch, rows, inner, columns): [batch rows inner] times [batch inner columns]. Layouts are the simplest
ones, so that a step that multiplies transposed matrices does not reach these rates.
"""

import math
from collections import Counter
from collections.abc import Mapping
from statistics import median

from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn

from benchmarks.process import Worker
from saccade.analysis.report.figures import Table
from saccade.ops.flops import inner_jaxprs

RUNS = 7
Product = tuple[int, int, int, int]


def products(jaxpr: Jaxpr | ClosedJaxpr, times: int = 1) -> Counter[Product]:
    """Count the matrix products of a traced program by their sizes; those in a scan as often as it runs."""
    found: Counter[Product] = Counter()
    for equation in jaxpr.eqns:
        if equation.primitive.name == 'dot_general':
            found[_sizes(equation)] += times
        runs = equation.params['length'] if equation.primitive.name == 'scan' else 1
        for inner in inner_jaxprs(equation):
            found += products(inner, times * runs)
    return found


def _sizes(equation: JaxprEqn) -> Product:
    (contracted, right_contracted), (batch, right_batch) = equation.params['dimension_numbers']
    left, right = (variable.aval.shape for variable in equation.invars)
    rows = (size for axis, size in enumerate(left) if axis not in (*contracted, *batch))
    columns = (size for axis, size in enumerate(right) if axis not in (*right_contracted, *right_batch))
    return (
        math.prod(left[axis] for axis in batch),
        math.prod(rows),
        math.prod(left[axis] for axis in contracted),
        math.prod(columns),
    )


def flops(product: Product) -> int:
    """Return the FLOPs of a product."""
    return 2 * math.prod(product)


def compared(
    ours: Worker, theirs: Worker, steps: Mapping[str, list[float]]
) -> tuple[Table, dict[str, dict[str, float]]]:
    """Multiply the sizes of our step in both libraries in turn; return their rates, and what they take of a step.

    Args:
        steps: seconds of whole steps of each variant, round by round.
    """
    sizes = [(tuple(product), times) for *product, times in ours.ask('products')]
    seconds = {
        worker.name: [worker.ask('multiply', product=product, runs=RUNS) for product, _ in sizes]
        for worker in (ours, theirs)
    }
    rows = [
        (
            ' x '.join(map(str, product)),
            f'{times}',
            f'{times * flops(product) / 1e9:.1f}',
            *(f'{flops(product) / seconds[name][at] / 1e9:.0f}' for name in seconds),
        )
        for at, (product, times) in enumerate(sizes)
    ]
    found = {}
    for name, each in seconds.items():
        in_products = sum(times * taken for (_, times), taken in zip(sizes, each, strict=True))
        found[name] = {'products': in_products, 'step': median(steps[name])}
    total = sum(times * flops(product) for product, times in sizes)
    rows.append((
        'all',
        f'{sum(times for _, times in sizes)}',
        f'{total / 1e9:.1f}',
        *(f'{total / found[name]["products"] / 1e9:.0f}' for name in seconds),
    ))  # fmt: skip
    rows += [
        (f'{part}, ms', '', '', *(f'{1e3 * figure(found[name]):.0f}' for name in seconds))
        for part, figure in _PARTS.items()
    ]
    columns = ('batch x rows x inner x columns', 'a step', 'GFLOPs', *(f'{name}, GFLOP/s' for name in seconds))
    return Table('Matrix products of our step, each on its own', columns, rows), found


_PARTS = {
    'products': lambda of: of['products'],
    'all else of a step': lambda of: of['step'] - of['products'],
}
