# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gated delta rule: the value that a key already retrieves is subtracted before the new value is added.

    S_t = a_t (I - b_t k_t k_t^T) S_(t-1) + b_t k_t v_t^T,   y_t = q_t^T S_t

Yang, Kautz, Hatamizadeh 2024, equation 10, https://arxiv.org/abs/2412.06464; with a = 1, Yang et al. 2024, section 2.2,
https://arxiv.org/abs/2406.06484. Within a chunk it is a linear attention that writes u instead of v (the WY
representation: appendix A of the first, section 3 of the second):

    u_i = b_i (v_i - (memory)^T k_i - sum over j < i of (decay from j to i) (k_i . k_j) u_j)

Erasing and writing can have shares of their own, per feature of a key and of a value (`erase_and_write`).

The generalised delta rule has separate keys for reading the old value, removing it and adding the new value: it is two
such writes, v and u (`replace`).
"""

from typing import Any

import jax
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.ops.linear_attention import ChunkDecay, Memory, Row, Segments, chunk_decay, read_and_write
from saccade.types import Keys, Queries


def correct(
    q: Queries,
    k: Keys,
    v: Float[Array, 'B T N V'],
    write: Float[Array, 'B T N'],
    log_decay: Float[Array, 'B T N'] | Float[Array, 'B T N H'],
    segments: Segments,
    state: Memory,
    chunk: int,
) -> tuple[Float[Array, 'B T N V'], Memory]:
    """Apply the gated delta rule; return the output of each query, in float32, and the new memory.

    Args:
        k: keys of norm 1, for stability.
        write: b, the replaced share of a key's old value, from 0 to 1; up to 2 for negative eigenvalues.
        log_decay: log a, at most 0, per head, or per feature of a key: diag(a), of Kimi delta attention
            (Kimi Team 2025, equation 1, https://arxiv.org/abs/2510.26692).
        chunk: tokens per chunk.
    """
    write = write[..., None]
    return erase_and_write(q, k, v, write, write, log_decay, segments, state, chunk)


def erase_and_write(
    q: Queries,
    k: Keys,
    v: Float[Array, 'B T N V'],
    erase: Float[Array, 'B T N #H'],
    write: Float[Array, 'B T N #V'],
    log_decay: Float[Array, 'B T N'] | Float[Array, 'B T N H'],
    segments: Segments,
    state: Memory,
    chunk: int,
) -> tuple[Float[Array, 'B T N V'], Memory]:
    """Apply the gated delta rule with shares of what is erased and of what is written.

        S_t = (I - k_t (e_t * k_t)^T) diag(a_t) S_(t-1) + k_t (w_t * v_t)^T,   y_t = q_t^T S_t

    (Hatamizadeh, Choi, Kautz 2026, https://arxiv.org/abs/2605.22791). With one number e = w per head it is `correct`.

    Args: as for `correct`; erase (e) and write (w), per head, or per feature of a key and of a value.
    """
    row = Row.of(segments, state.segment, chunk)
    sums, y = row.scan(_advance, state.sums, *(row.only(x) for x in (q, k, v, erase, write, log_decay)))
    return y, Memory(sums, row.newest)


def correct_repeatedly(
    q: Queries,
    k: Float[Array, 'B T M N H'],
    v: Float[Array, 'B T M N V'],
    write: Float[Array, 'B T M N'],
    log_decay: Float[Array, 'B T N'] | Float[Array, 'B T N H'],
    segments: Segments,
    state: Memory,
    chunk: int,
) -> tuple[Float[Array, 'B T N V'], Memory]:
    """Apply the delta rule M times per token: the decay, then M successive updates, then the query.

    Each update has rank 1, so a token's updates have rank M (DeltaProduct: Siems et al. 2025, section 3,
    https://arxiv.org/abs/2502.10297).

    Args: as for `correct`; chunk, updates per chunk.
    """
    M = k.shape[2]

    def only_at(place: int, x: Array) -> Array:
        updates = jnp.zeros((*x.shape[:2], M, *x.shape[2:]), x.dtype).at[:, :, place].set(x)
        return rearrange(updates, 'B T M ... -> B (T M) ...')

    k, v, write = (rearrange(x, 'B T M ... -> B (T M) ...') for x in (k, v, write))
    segments = jnp.repeat(segments, M, axis=1)
    y, state = correct(only_at(M - 1, q), k, v, write, only_at(0, log_decay), segments, state, chunk)
    return y[:, M - 1 :: M], state


def replace(
    q: Queries,
    k: Keys,
    v: Float[Array, 'B T N V'],
    find: Keys,
    erase: Keys,
    log_decay: Float[Array, 'B T N'] | Float[Array, 'B T N H'],
    segments: Segments,
    state: Memory,
    chunk: int,
) -> tuple[Float[Array, 'B T N V'], Memory]:
    """Apply the generalised delta rule; return the output of each query, in float32, and the new memory.

        S_t = diag(a_t) S_(t-1) - erase_t find_t^T S_(t-1) + k_t v_t^T,   y_t = q_t^T S_t

    (Peng et al. 2025, section 4.1, https://arxiv.org/abs/2503.14456). The memory is read before it decays; with
    find = a k, erase = b k, and b v as values, this is `correct`. Nothing is divided by a decay.

    Args:
        find: keys for reading the old value.
        erase: keys for subtracting the old value.
        log_decay: log a, at most 0, per head, or per feature of a key.
        chunk: tokens per chunk.
    """
    row = Row.of(segments, state.segment, chunk)
    sums, y = row.scan(_advance_replaced, state.sums, *(row.only(x) for x in (q, k, v, find, erase, log_decay)))
    return y, Memory(sums, row.newest)


def unit(x: Queries, epsilon: float = 1e-6) -> Queries:
    """Normalise each head to norm 1, in float32; epsilon, added to the square, is from Yang et al.'s code."""
    x = x.astype(jnp.float32)
    return x * (jnp.sum(x * x, axis=-1, keepdims=True) + epsilon) ** -0.5


def _advance(
    sums: Array, same: Array, old: Array, q: Array, k: Array, v: Array, erase: Array, write: Array, log_decay: Array
) -> tuple[Any, Any]:
    left = chunk_decay(log_decay, same, old)
    return read_and_write(sums, left, q, k, _written(sums, left, k, erase * k, write * v))


def _written(sums: Array, left: ChunkDecay, k: Array, find: Array, v: Array) -> Array:
    """Return u of each token of a chunk, the solution of a unit lower triangular system for each head."""
    below = left.products(find[..., None, :], k)[:, :, 0]
    new = v - jnp.einsum('BTKR,BKRH->BTKH', find * left.since, sums)
    return jnp.swapaxes(solve_unit_lower(below, jnp.swapaxes(new, 1, 2)), 1, 2)


def _advance_replaced(
    sums: Array, same: Array, old: Array, q: Array, k: Array, v: Array, find: Array, erase: Array, log_decay: Array
) -> tuple[Any, Any]:
    left = chunk_decay(log_decay, same, old)

    def found(keys: Array) -> Array:
        """Return the decayed products with each earlier key, without the token's own decay."""
        products = left.products(jnp.roll(find, -1, axis=1)[..., None, :], keys)[:, :, 0]
        return jnp.where(same[:, None], _one_later(products, -2, 0.0), 0.0)

    since = jnp.where(old[..., None, None], _one_later(left.since, 1, 1.0), 0.0)
    known = jnp.einsum('BTKR,BKRH->BKTH', find * since, sums) + jnp.einsum('BKTS,BSKH->BKTH', found(k), v)
    taken = jnp.swapaxes(solve_unit_lower(found(erase), -known), 1, 2)
    written, y = read_and_write(sums, left, q, k, v)
    erased, of_erased = read_and_write(jnp.zeros_like(sums), left, q, erase, taken)
    return written + erased, y + of_erased


def _one_later(x: Array, axis: int, first: float) -> Array:
    """Shift by one along an axis; drop the last and insert `first`."""
    ends = [(0, 0)] * x.ndim
    ends[axis] = (1, 0)
    return jax.lax.slice_in_dim(jnp.pad(x, ends, constant_values=first), 0, x.shape[axis], axis=axis)


@jax.custom_vjp
def solve_unit_lower(below: Float[Array, '*B T T'], y: Float[Array, '*B T V']) -> Float[Array, '*B T V']:
    """Solve (I + L) u = y for u, where L is the strictly lower triangle of `below`.

    Only by products: on the CPU, the batched triangular solve of jaxlib 0.10 blocks a thread of the pool that it waits
    for, so two concurrent solves, as in a backward pass, can deadlock.
    """
    return _solve(below, y)[0]


def _solve(below: Array, y: Array) -> tuple[Array, tuple[Array, Array]]:
    inverse = _unit_lower_inverse(below)
    u = inverse @ y
    return u, (inverse, u)


def _solve_backward(saved: tuple[Array, Array], du: Array) -> tuple[Array, Array]:
    inverse, u = saved
    dy = jnp.swapaxes(inverse, -1, -2) @ du
    return jnp.tril(-dy @ jnp.swapaxes(u, -1, -2), -1), dy


solve_unit_lower.defvjp(_solve, _solve_backward)


def _unit_lower_inverse(below: Float[Array, '*B T T']) -> Float[Array, '*B T T']:
    """Return (I + L)^-1, from the inverses P, Q of diagonal blocks of doubling size: [[P, 0], [-Q L P, Q]]."""
    T = below.shape[-1]
    whole = 1 << (T - 1).bit_length()
    below = jnp.pad(below, (*[(0, 0)] * (below.ndim - 2), (0, whole - T), (0, whole - T)))
    inverse = jnp.ones((*below.shape[:-1], 1, 1))
    while (size := inverse.shape[-1]) < whole:
        pairs = rearrange(below, '... (C t) (D s) -> ... t s C D', t=2 * size, s=2 * size)
        corner = jnp.moveaxis(jnp.diagonal(pairs[..., size:, :size, :, :], 0, -2, -1), -1, -3)
        first, last = inverse[..., 0::2, :, :], inverse[..., 1::2, :, :]
        upper = jnp.concatenate([first, jnp.zeros_like(first)], axis=-1)
        inverse = jnp.concatenate([upper, jnp.concatenate([-last @ corner @ first, last], axis=-1)], axis=-2)
    return inverse[..., 0, :T, :T]
