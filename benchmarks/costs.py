# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cost of one layer by length: of each mixer, kernel, softmax, score term and mask of the sweep over attention.

A batch has the same number of tokens at each length, so a cost that is proportional to the length is constant in a
table. Exponents are of one sequence: 1 for such a cost, 2 for all pairs of tokens. FLOPs and bytes are counted in
programs that are not run.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from saccade.experiments.sweeps import attention as sweep
from scipy.stats import t as student

from benchmarks.one_layer import forward_and_backward, forward_flops, layer, params_like
from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.types import LayerContext, UserError

LENGTHS = (256, 1024, 4096, 16384)
TOKENS, WIDTH, WINDOW, BLOCK = 16384, 128, 64, 256
DECODED = 32  # tokens, one after another
LARGEST = 4 * 2**30  # temporary bytes of a program that is run
PLAIN = sweep.PLAIN['use']
IN_BLOCKS = {'use': 'attention.blockwise:Blockwise', 'query_block': BLOCK, 'key_block': BLOCK}
MULTI_HEAD: Mapping[str, Any] = {
    'use': 'attention.multi_head:MultiHead',
    'heads': sweep.HEADS,
    'kernel': sweep.PLAIN,
    'mask': sweep.CAUSAL,
    'position': sweep.ROTARY,
}


@dataclass(frozen=True)
class Cost:
    """What is reported. Attributes: title of its table; its unit, as a divisor; exponent of a length in its batch."""

    title: str
    unit: float
    of_batch: int


COSTS: Mapping[str, Cost] = {
    'flops': Cost(f'GFLOPs of the forward pass, {TOKENS:,} tokens', 1e9, 1),
    'temp_bytes': Cost(f'Temporary MiB of the forward and backward pass, {TOKENS:,} tokens', 2.0**20, 1),
    'state_bytes': Cost('KiB of the decoding state of a sequence', 2.0**10, 0),
    'compile_seconds': Cost('Seconds to compile the forward and backward pass', 1.0, 0),
    'seconds': Cost(f'Seconds of the forward and backward pass, {TOKENS:,} tokens', 1.0, 1),
    'token_seconds': Cost('Milliseconds to decode a token', 1e-3, 0),
}


def variants(length: int) -> dict[str, dict[str, Any]]:
    """Return the spec of each layer for rows of a length, with the plain kernel in those that have one."""
    layers = sweep.mixers(length, WINDOW) | sweep.without_attention(length, WINDOW)
    kernels = sweep.kernels(length, WINDOW)
    softmaxes = {name: sweep.PLAIN | {'softmax': spec} for name, spec in sweep.softmaxes(length).items()}
    changes = (
        {name: {'kernel': spec} for name, spec in (kernels | softmaxes).items()}
        | {name: {'terms': [spec]} for name, spec in sweep.terms().items()}
        | {name: {'mask': spec} for name, spec in sweep.masks(length, WINDOW).items()}
    )
    changed = {name: {**MULTI_HEAD, **each} for name, each in changes.items()}
    return {'multi_head': dict(MULTI_HEAD)} | layers | changed


def cheapest(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec with the blockwise kernel in place of the plain one, or as it is if the layer refuses it."""
    changed = _in_blocks(spec)
    try:
        jax.eval_shape(lambda x: layer(changed).init(jax.random.key(0), x), _tokens(1, BLOCK))
    except UserError:
        return dict(spec)
    return changed


def _in_blocks(spec: Any) -> Any:
    if isinstance(spec, list | tuple):
        return [_in_blocks(each) for each in spec]
    if not isinstance(spec, Mapping):
        return spec
    inner = {name: _in_blocks(each) for name, each in spec.items()}
    return inner | IN_BLOCKS if spec.get('use') == PLAIN else inner


def costs(lengths: Sequence[int], rounds: int) -> MeasurementReport:
    """Count and measure each layer at each length, and fit exponents of the length.

    Args:
        rounds: runs of which the median is reported; 0 to count FLOPs and bytes alone.

    Raises:
        UserError: fewer than three lengths are given, or one does not divide the tokens of a batch.
    """
    if len(set(lengths)) < 3:
        raise UserError(f'--length: an exponent with an interval needs three lengths or more, not {list(lengths)}')
    if unfit := [length for length in lengths if TOKENS % length]:
        raise UserError(f'--length={unfit[0]}: rows of a batch of {TOKENS} tokens need a length that divides it')
    lengths = sorted(set(lengths))
    found: dict[str, dict[str, list[int | float | None]]] = {name: {} for name in COSTS}
    for length in lengths:
        cheapest_of = {name: cheapest(spec) for name, spec in variants(length).items()}
        for name, spec in ({'plain': MULTI_HEAD} | cheapest_of).items():
            for cost, figure in _measured(spec, length, rounds).items():
                found[cost].setdefault(name, []).append(figure)
    found = {name: rows for name, rows in found.items() if rows}
    exponents = {
        name: {each: exponent(lengths, row, COSTS[name].of_batch) for each, row in rows.items()}
        for name, rows in found.items()
    }
    tables = tuple(_table(COSTS[name], lengths, rows, exponents[name]) for name, rows in found.items())
    notes = (
        f'One layer of width {WIDTH} with {sweep.HEADS} heads, float32; local parts see {WINDOW} tokens; kernels work '
        f'in blocks of {BLOCK} tokens except `plain` and layers that refuse this.',
        'Exponents are of one sequence, with a 95% interval of the line through the logarithms. A dash: no decoding '
        f'state, or a program that needs more than {LARGEST // 2**30} GiB and was not run.',
    )
    return MeasurementReport('costs', {'lengths': lengths, 'exponents': exponents, **found}, tables, notes)


def exponent(lengths: Sequence[int], row: Sequence[int | float | None], of_batch: int) -> tuple[float, float] | None:
    """Return the exponent of the length in a cost of one sequence, and the half-width of its 95% interval."""
    if None in row or not min(row):
        return None
    x, y, free = np.log(lengths), np.log(row), len(row) - 2
    slope, start = np.polyfit(x, y, 1)
    error = np.linalg.norm(y - start - slope * x) / np.linalg.norm(x - x.mean()) / np.sqrt(free)
    return float(slope) + of_batch, float(student.ppf(0.975, free) * error)


def state_bytes(spec: Mapping[str, Any], length: int) -> int | None:
    """Return the bytes of the decoding state of a sequence of a length; None if the layer does not decode."""
    try:
        state = jax.eval_shape(lambda x: layer(spec).init_state(x, length), _tokens(1, 1))
    except UserError:
        return None
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))


def _measured(spec: Mapping[str, Any], length: int, rounds: int) -> dict[str, int | float | None]:
    start = time.perf_counter()
    like = params_like(spec, _batch(length))
    program = forward_and_backward(spec).lower(like, _batch(length)).compile()
    compile_seconds, taken = time.perf_counter() - start, program.memory_analysis().temp_size_in_bytes
    state = state_bytes(spec, length)
    counted = {'flops': forward_flops(spec, _batch(length)), 'temp_bytes': taken, 'state_bytes': state}
    if not rounds:
        return counted
    params = _drawn(like)
    runs = (lambda: program(params, _drawn(_batch(length)))) if taken <= LARGEST else None
    decode = None if state is None else jax.jit(_decoding(spec, length))
    return counted | {
        'compile_seconds': compile_seconds,
        'seconds': runs and _median(runs, rounds),
        'token_seconds': decode and _median(lambda: decode(params, _drawn(_tokens(1, DECODED))), rounds) / DECODED,
    }


def _decoding(spec: Mapping[str, Any], length: int) -> Callable[[PyTree, Float[Array, 'B T D']], Any]:
    """Return a function that decodes tokens one after another with a state for a whole sequence."""

    def decode(params: PyTree, x: Float[Array, 'B T D']) -> Float[Array, 'T B D']:
        def step(state: PyTree, each: tuple[Array, Array]) -> tuple[PyTree, Array]:
            token, position = each
            context = LayerContext(jnp.full((1, 1), position))
            y, state = layer(spec).apply(params, token[None, None], context, state, method='step')
            return state, y

        first = layer(spec).init_state(x[:, :1], length)
        return jax.lax.scan(step, first, (x[0], jnp.arange(x.shape[1])))[1]

    return decode


def _median(run: Callable[[], Any], rounds: int) -> float:
    jax.block_until_ready(run())
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        jax.block_until_ready(run())
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def _tokens(rows: int, length: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((rows, length, WIDTH), jnp.float32)


def _batch(length: int) -> jax.ShapeDtypeStruct:
    return _tokens(TOKENS // length, length)


def _drawn(like: PyTree) -> PyTree:
    """Return normal numbers with a deviation of 0.02: times do not depend on them."""
    return jax.tree.map(lambda leaf: 0.02 * jax.random.normal(jax.random.key(0), leaf.shape, leaf.dtype), like)


def _table(
    cost: Cost,
    lengths: Sequence[int],
    rows: Mapping[str, Sequence[int | float | None]],
    exponents: Mapping[str, tuple[float, float] | None],
) -> Table:
    def written(figure: int | float | None) -> str:
        return '-' if figure is None else f'{figure / cost.unit:,.4g}'

    def fitted(found: tuple[float, float] | None) -> str:
        return '-' if found is None else f'{found[0]:.2f} ± {found[1]:.2f}'

    return Table(
        cost.title,
        ('layer', *(f'T = {length:,}' for length in lengths), 'exponent'),
        [(name, *map(written, row), fitted(exponents[name])) for name, row in rows.items()],
    )
