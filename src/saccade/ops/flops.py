# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""FLOP counts of a function, by walking its jaxpr.

XLA's `cost_analysis` counts the body of a scan once, whatever its length; here every body counts as often as
it runs. What counts is the usual convention: the multiplications and additions of matrix products and
convolutions, and nothing elementwise. The figures are of the program as traced: dead code that the compiler
would drop counts too. A kernel that hides from JAX its products, as cuDNN's attention does, or which of them it skips,
as Pallas kernels do, asks `counting` and has the same products of blocks counted in its place; a program with such a
kernel is traced once more for that, `counted` says.

- `flops`: what the hardware does. What is computed again in the backward pass counts again.
- `model_flops`: what the model needs. Everything counts once, as in model FLOPs utilisation (Chowdhery et al. 2022,
  "PaLM: Scaling Language Modeling with Pathways", appendix B, https://arxiv.org/abs/2204.02311): what is computed
  again is marked in the trace (`ops.remat`).

Either counts the pairs of tokens that an attention kernel multiplies: those that the mask forbids too, but for the
blocks of them that the kernel skips. (PaLM's formula counts all pairs.)

As for loops and the like:

- cond: the most expensive branch.
- shard_map: the sum over all its shards, so a replicated product counts once a shard.
- while: its trip count is unknown; refused if there is anything to count in it. The rounds of experts that only uneven
  loads need count nothing. (`fori_loop` between fixed
  bounds is a scan.)
"""

import math
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn

from saccade.ops.expert_parallel import UNEVEN
from saccade.ops.remat import is_recomputed

Cost = Callable[[JaxprEqn], int]
Combine = Callable[[JaxprEqn, list[int]], int]


_counting = jax.make_user_context(False)
_asked: ContextVar[list[bool] | None] = ContextVar('asked', default=None)


def flops(function: Callable[..., Any], *args: Any) -> int:
    """Count the floating-point operations of `function(*args)`: a multiplication with its addition is two.

    Args:
        args: arrays, `jax.ShapeDtypeStruct`s, or pytrees of them.

    Raises:
        ValueError: a product is in a loop of unknown trip count.
    """
    return jaxpr_flops(_traced(function, *args))


def counting() -> bool:
    """Return whether the program is traced only for its products to be counted."""
    if (asked := _asked.get()) is not None:
        asked.append(_counting.value)
    return _counting.value


def counted(trace: Callable[[], Any]) -> tuple[Any, ClosedJaxpr]:
    """Trace a program by a function, and return it with the jaxpr in which to count its products.

    That is its own jaxpr, and it is traced once, unless a kernel hides its products.

    Args:
        trace: returns a `jax.stages.Traced`, or something else with a `jaxpr`.
    """
    token = _asked.set([])
    try:
        traced, hidden = trace(), _asked.get()
    finally:
        _asked.reset(token)
    if not hidden:
        return traced, traced.jaxpr
    with _counting(True):
        return traced, trace().jaxpr


def model_flops(function: Callable[..., Any], *args: Any) -> int:
    """Count as `flops` does, with nothing computed twice: as if layers were not rematerialised and kernels kept scores.

    Raises:
        ValueError: a product is in a loop of unknown trip count.
    """
    return jaxpr_model_flops(_traced(function, *args))


def _traced(function: Callable[..., Any], *args: Any) -> ClosedJaxpr:
    with _counting(True):
        return jax.make_jaxpr(function)(*args)


def jaxpr_flops(jaxpr: ClosedJaxpr) -> int:
    """Count as `flops` does, for what is already traced: `jax.jit(step).trace(*args).jaxpr`.

    Raises:
        ValueError: a product is in a loop of unknown trip count.
    """
    return _tally(jaxpr, _products, _executed)


def jaxpr_model_flops(jaxpr: ClosedJaxpr) -> int:
    """Count as `model_flops` does, for what is already traced.

    Raises:
        ValueError: a product is in a loop of unknown trip count.
    """
    return _tally(jaxpr, _products, _executed, leave_out=is_recomputed)


def sequential_steps(function: Callable[..., Any], *args: Any) -> int:
    """Count how often the bodies of the scans in `function(*args)` run, one after another; 0 where there is no scan."""
    return _tally(jax.make_jaxpr(function)(*args), _runs_of_a_scan, _executed)


def _tally(
    jaxpr: Jaxpr | ClosedJaxpr, cost: Cost, combine: Combine, leave_out: Callable[[JaxprEqn], bool] = lambda _: False
) -> int:
    """Add up the cost of every equation, and what `combine` makes of the tallies of the jaxprs inside it."""
    return sum(
        cost(equation) + combine(equation, [_tally(inner, cost, combine, leave_out) for inner in _inside(equation)])
        for equation in jaxpr.eqns
        if not leave_out(equation)
    )


def _inside(equation: JaxprEqn) -> Iterator[Jaxpr | ClosedJaxpr]:
    """Find the jaxprs by type: the parameters that hold them change names from one JAX to the next."""
    for value in equation.params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, Jaxpr | ClosedJaxpr):
                yield item


def _written(equation: JaxprEqn, inside: list[int]) -> int:
    return sum(inside)


def _executed(equation: JaxprEqn, inside: list[int]) -> int:
    return _TIMES.get(equation.primitive.name, _written)(equation, inside)


def _scan(equation: JaxprEqn, inside: list[int]) -> int:
    return equation.params['length'] * sum(inside)


def _cond(equation: JaxprEqn, inside: list[int]) -> int:
    return max(inside)


def _while(equation: JaxprEqn, inside: list[int]) -> int:
    if any(inside) and UNEVEN not in str(equation.source_info.name_stack):
        raise ValueError('cannot count what a while loop of unknown trip count executes; use a scan, or fixed bounds')
    return 0


def _shard_map(equation: JaxprEqn, inside: list[int]) -> int:
    sizes = equation.params['mesh'].shape
    return math.prod(sizes[axis] for axis in equation.params['newly_manual_axes']) * sum(inside)


def _pallas_call(equation: JaxprEqn, inside: list[int]) -> int:
    return math.prod(equation.params['grid_mapping'].grid) * sum(inside)


_TIMES: dict[str, Combine] = {
    'scan': _scan,
    'cond': _cond,
    'while': _while,
    'shard_map': _shard_map,
    'pallas_call': _pallas_call,
}


def _runs_of_a_scan(equation: JaxprEqn) -> int:
    return equation.params['length'] if equation.primitive.name == 'scan' else 0


def _products(equation: JaxprEqn) -> int:
    return _PRODUCTS.get(equation.primitive.name, _nothing)(equation)


def _nothing(equation: JaxprEqn) -> int:
    return 0


def _dot_general(equation: JaxprEqn) -> int:
    (_, contracted), (_, batch) = equation.params['dimension_numbers']
    return _dot(equation, {*contracted, *batch})


def _ragged_dot_general(equation: JaxprEqn) -> int:
    """Count a grouped product, in which every row meets the matrix of its own group alone."""
    numbers = equation.params['ragged_dot_dimension_numbers']
    (_, contracted), (_, batch) = numbers.dot_dimension_numbers
    return _dot(equation, {*contracted, *batch, *numbers.rhs_group_dimensions})


def _dot(equation: JaxprEqn, shared: set[int]) -> int:
    """Multiply every element on the left by every column on the right."""
    left, right = (variable.aval for variable in equation.invars[:2])
    columns = (size for axis, size in enumerate(right.shape) if axis not in shared)
    return 2 * left.size * math.prod(columns)


def _conv_general_dilated(equation: JaxprEqn) -> int:
    """Count the products with padding and with the zeros of a dilated input too."""
    kernel, output = equation.invars[1].aval, equation.outvars[0].aval
    outputs_axis = equation.params['dimension_numbers'].rhs_spec[0]
    return 2 * output.size * (kernel.size // kernel.shape[outputs_axis])


_PRODUCTS: dict[str, Cost] = {
    'dot_general': _dot_general,
    'ragged_dot_general': _ragged_dot_general,
    'conv_general_dilated': _conv_general_dilated,
}
