# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sigmoid loss of all pairs of two sides, computed in chunks without the full matrix of pairs.

    loss_i = sum over j of log(1 + exp(-z_ij (s u_i . v_j + b))),      z_ij = 1 where i = j, else -1

Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training", sections 3.2 and 3.3,
https://arxiv.org/abs/2303.15343. If rows are sharded over devices, the second side passes around them in a ring, so a
device stores the rows of one other device at a time. In the backward pass gradients go around with their rows, and
logits are recomputed. Cost: 2 B^2 D forward and 6 B^2 D backward; memory B chunk / n on each of n devices.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.ops.spread import numbers
from saccade.types import UserError

Vectors, Chunk = Float[Array, 'B D'], Float[Array, 'C D']
Line = tuple[Float[Array, ''], Float[Array, '']]
ByRow = Float[Array, 'B']
Visit = Callable[[Any, Any], tuple[Any, Any]]


@partial(jax.custom_vjp, nondiff_argnums=(4, 5))
def sigmoid_pairs(
    u: Vectors, v: Vectors, line: Line, real: ByRow, axis: str | None, chunk: int | None
) -> tuple[ByRow, ByRow]:
    """Return the loss of each row of u, in nats, and its largest logit with a non-matching row of v.

    Args:
        line: s and b.
        real: 1 for a row, 0 for padding, which has no pairs.
        axis: device axis that shards the rows; None if all rows are local.
        chunk: rows of v per chunk; None for all rows of a device.

    Raises:
        UserError: the chunk does not divide the rows.
    """
    mine = numbers(len(u), axis)

    def visit(carry: Any, others: Any) -> tuple[Any, Any]:
        (losses, best), (v, number, there) = carry, others
        logits = jnp.where(there, _logits(u, v, line), -jnp.inf)
        others_alone = jnp.where(mine[:, None] == number, -jnp.inf, logits).max(axis=-1)
        return (losses + _losses(u, v, line, mine, (number, there)), jnp.maximum(best, others_alone)), others

    start = jnp.zeros(len(u)), jnp.full(len(u), -jnp.inf)
    return _around(visit, start, (v, mine, real > 0), axis, chunk)[0]


def _forward(u: Vectors, v: Vectors, line: Line, real: ByRow, axis: str | None, chunk: int | None) -> Any:
    return sigmoid_pairs(u, v, line, real, axis, chunk), (u, v, line, real)


def _backward(axis: str | None, chunk: int | None, kept: Any, wanted: tuple[ByRow, ByRow]) -> Any:
    u, v, line, real = kept
    mine = numbers(len(u), axis)

    def visit(carry: Any, others: Any) -> tuple[Any, Any]:
        v, of_v, number, there = others
        _, pull = jax.vjp(lambda u, v, line: _losses(u, v, line, mine, (number, there)), u, v, line)
        of_u, more, of_line = pull(wanted[0])
        return jax.tree.map(jnp.add, carry, (of_u, of_line)), (v, of_v + more, number, there)

    start = jnp.zeros_like(u), jax.tree.map(jnp.zeros_like, line)
    (of_u, of_line), (_, of_v, *_) = _around(visit, start, (v, jnp.zeros_like(v), mine, real > 0), axis, chunk)
    return of_u, of_v, of_line, jnp.zeros_like(real)


sigmoid_pairs.defvjp(_forward, _backward)


def _logits(u: Vectors, v: Chunk, line: Line) -> Float[Array, 'B C']:
    return line[0] * jnp.einsum('AD,BD->AB', u, v) + line[1]


def _losses(u: Vectors, v: Chunk, line: Line, mine: Array, others: tuple[Array, Array]) -> ByRow:
    """Return the loss of each row of u with a chunk of v, given its row numbers and mask."""
    number, there = others
    sign = jnp.where(mine[:, None] == number, -1.0, 1.0)
    return jnp.where(there, jax.nn.softplus(sign * _logits(u, v, line)), 0.0).sum(axis=-1)


def _around(visit: Visit, carry: Any, others: Any, axis: str | None, chunk: int | None) -> tuple[Any, Any]:
    """Visit every chunk of every device's rows; return the carry, and the updated rows of this device."""
    count = len(jax.tree.leaves(others)[0])
    if count % (chunk or count):
        raise UserError(f'task.chunk: {chunk} does not divide the {count} rows of a device')
    chunks = jax.tree.map(lambda rows: rearrange(rows, '(chunks B) ... -> chunks B ...', B=chunk or count), others)
    if axis is None:
        carry, chunks = jax.lax.scan(visit, carry, chunks)
    else:
        devices = jax.lax.axis_size(axis)
        to_next = [(device, (device + 1) % devices) for device in range(devices)]

        def step(state: Any, _: None) -> tuple[Any, None]:
            carry, chunks = jax.lax.scan(visit, *state)
            return (carry, jax.tree.map(lambda rows: jax.lax.ppermute(rows, axis, to_next), chunks)), None

        (carry, chunks), _ = jax.lax.scan(step, (carry, chunks), length=devices)
    return carry, jax.tree.map(lambda rows: rearrange(rows, 'chunks B ... -> (chunks B) ...'), chunks)
