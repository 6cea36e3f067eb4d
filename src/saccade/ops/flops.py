# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""FLOP counts of a function, by walking its jaxpr.

XLA's `cost_analysis` counts the body of a scan once; here every body counts as often as it runs. By the usual
convention only multiplications and additions of matrix products and convolutions count. The figures are for the traced
program, including dead code that the compiler would remove. A kernel whose products (cuDNN attention) or skipped blocks
(Pallas kernels) are hidden from JAX checks `counting` and traces equivalent blockwise products instead; a program with
such a kernel is traced a second time for this, see `counted`.

- `flops`: executed FLOPs. Recomputation in the backward pass counts again.
- `model_flops`: FLOPs needed by the model. Everything counts once, as in model FLOPs utilisation (Chowdhery et al.
  2022, "PaLM: Scaling Language Modeling with Pathways", appendix B, https://arxiv.org/abs/2204.02311): recomputation
  is marked in the trace (`ops.remat`).

Both count all pairs of tokens that an attention kernel multiplies, including masked pairs outside skipped blocks.
(PaLM's formula counts all pairs.)

Control flow:

- cond: the most expensive branch.
- shard_map: the sum over all its shards, so a replicated product counts once per shard.
- while: the trip count is unknown; an error if its body has products. Additional rounds of experts for uneven loads
  are not counted. (`fori_loop` between fixed bounds is a scan.)
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
    """Return True if the program is traced only for counting products."""
    if (asked := _asked.get()) is not None:
        asked.append(_counting.value)
    return _counting.value


def counted(trace: Callable[[], Any]) -> tuple[Any, ClosedJaxpr]:
    """Trace a program with a function, and return it with the jaxpr for counting its products.

    This is its own jaxpr, traced once, unless a kernel hides its products.

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
    """Count as in `flops`, without recomputation by rematerialised layers or attention kernels.

    Raises:
        ValueError: a product is in a loop of unknown trip count.
    """
    return jaxpr_model_flops(_traced(function, *args))


def _traced(function: Callable[..., Any], *args: Any) -> ClosedJaxpr:
    with _counting(True):
        return jax.make_jaxpr(function)(*args)


def jaxpr_flops(jaxpr: ClosedJaxpr) -> int:
    """Count as in `flops`, for a traced program: `jax.jit(step).trace(*args).jaxpr`.

    Raises:
        ValueError: a product is in a loop of unknown trip count.
    """
    return _tally(jaxpr, _products, _executed)


def jaxpr_model_flops(jaxpr: ClosedJaxpr) -> int:
    """Count as in `model_flops`, for a traced program.

    Raises:
        ValueError: a product is in a loop of unknown trip count.
    """
    return _tally(jaxpr, _products, _executed, leave_out=is_recomputed)


def sequential_steps(function: Callable[..., Any], *args: Any) -> int:
    """Count the sequential iterations of the scans in `function(*args)`; 0 without a scan."""
    return _tally(jax.make_jaxpr(function)(*args), _runs_of_a_scan, _executed)


def _tally(
    jaxpr: Jaxpr | ClosedJaxpr, cost: Cost, combine: Combine, leave_out: Callable[[JaxprEqn], bool] = lambda _: False
) -> int:
    """Sum the costs of all equations, where `combine` combines the tallies of inner jaxprs."""
    return sum(
        cost(equation)
        + combine(equation, [_tally(inner, cost, combine, leave_out) for inner in inner_jaxprs(equation)])
        for equation in jaxpr.eqns
        if not leave_out(equation)
    )


def inner_jaxprs(equation: JaxprEqn) -> Iterator[Jaxpr | ClosedJaxpr]:
    """Yield inner jaxprs, found by type because the names of their parameters change between JAX versions."""
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
    """Count a grouped product, in which every row is multiplied only by the matrix of its group."""
    numbers = equation.params['ragged_dot_dimension_numbers']
    (_, contracted), (_, batch) = numbers.dot_dimension_numbers
    return _dot(equation, {*contracted, *batch, *numbers.rhs_group_dimensions})


def _dot(equation: JaxprEqn, shared: set[int]) -> int:
    """Multiply every element on the left by every column on the right."""
    left, right = (variable.aval for variable in equation.invars[:2])
    columns = (size for axis, size in enumerate(right.shape) if axis not in shared)
    return 2 * left.size * math.prod(columns)


def _conv_general_dilated(equation: JaxprEqn) -> int:
    """Count all products, including products with padding and with the zeros of a dilated input."""
    kernel, output = equation.invars[1].aval, equation.outvars[0].aval
    outputs_axis = equation.params['dimension_numbers'].rhs_spec[0]
    return 2 * output.size * (kernel.size // kernel.shape[outputs_axis])


_PRODUCTS: dict[str, Cost] = {
    'dot_general': _dot_general,
    'ragged_dot_general': _ragged_dot_general,
    'conv_general_dilated': _conv_general_dilated,
}
