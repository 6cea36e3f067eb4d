# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Memory benchmark of attention, forward and backward, from the compiled program: deterministic, and nothing is run."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.analysis.report.figures import MeasurementReport, Table, exponent
from saccade.ops import blockwise, plain
from saccade.ops.mask import Causal
from saccade.ops.scoring import Scoring
from saccade.ops.term import DistanceTable
from saccade.position.relative_bias import Buckets
from saccade.types import Keys, Queries, UserError

LENGTHS = (1024, 2048, 4096, 8192)
BATCH, HEADS, HEAD_WIDTH, BLOCK = 1, 4, 64, 256
BUCKETS = Buckets(count=32, furthest=128, both_sides=False)

Attend = Callable[[Queries, Keys, Keys, Scoring], Queries]


@dataclass(frozen=True)
class Path:
    """Attention implementation to compile.

    Attributes: how queries attend; whether a trained bias by distance is added to the scores.
    """

    attend: Attend
    biased: bool


_PLAIN = functools.partial(plain.attend_in_chunks, chunks=1)
_BLOCKWISE = functools.partial(blockwise.attend, q_block=BLOCK, k_block=BLOCK)
PATHS: Mapping[str, Path] = {
    'plain': Path(_PLAIN, False),
    'plain, trained bias': Path(_PLAIN, True),
    'blockwise': Path(_BLOCKWISE, False),
    'blockwise, trained bias': Path(_BLOCKWISE, True),
}


def memory(lengths: Sequence[int] = LENGTHS) -> MeasurementReport:
    """Compile causal attention with its backward pass at each length, and fit bytes ~ T^exponent.

    Raises:
        UserError: fewer than two lengths are given.
    """
    if len(set(lengths)) < 2:
        raise UserError(f'--length: an exponent needs two lengths or more, not {list(lengths)}')
    found = {name: [temp_bytes(path, length) for length in lengths] for name, path in PATHS.items()}
    exponents = {name: exponent(lengths, sizes) for name, sizes in found.items()}
    rows = [
        (name, *(f'{size / 2**20:,.1f}' for size in sizes), f'{exponents[name]:.2f}') for name, sizes in found.items()
    ]
    title = f'Temporary MiB, forward and backward; batch {BATCH}, {HEADS} heads of {HEAD_WIDTH}, blocks of {BLOCK}'
    table = Table(title, ('path', *(f'T = {length}' for length in lengths), 'exponent'), rows)
    figures = {'lengths': list(lengths), 'temp_bytes': found, 'exponents': exponents}
    return MeasurementReport('memory', figures, (table,))


def temp_bytes(path: Path, length: int) -> int:
    """Bytes that the compiled forward and backward pass needs besides its arguments and results."""

    def loss(q: Array, k: Array, v: Array, tables: tuple[Array, ...]) -> Array:
        terms = tuple(DistanceTable(table, BUCKETS) for table in tables)
        y = path.attend(q, k, v, Scoring(Causal(), terms, HEAD_WIDTH**-0.5))
        return jnp.sum(jnp.square(y))

    x = jax.ShapeDtypeStruct((BATCH, length, HEADS, HEAD_WIDTH), jnp.float32)
    tables = (jax.ShapeDtypeStruct((BUCKETS.count, HEADS), jnp.float32),) if path.biased else ()
    compiled = jax.jit(jax.grad(loss, argnums=(0, 1, 2, 3))).lower(x, x, x, tables).compile()
    return compiled.memory_analysis().temp_size_in_bytes
