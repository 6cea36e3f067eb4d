# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Test-time training: a memory that is a linear model per head, trained on the keys and values of a sequence.

    f(x; W) = x + norm([x 1] W),   l_s(W) = |f(k_s; W) - v_s|^2 / 2,   y_t = f(q_t; W_t)
    W_t = W' - c_i sum over s <= t of the mini-batch of  r_s dl_s(W')/dW,   t the i-th token of its mini-batch

Sun et al. 2024, "Learning to (Learn at Test Time): RNNs with Expressive Hidden States", sections 2.4 and 2.5,
https://arxiv.org/abs/2407.04620. W' is W after the mini-batch before, or the trained start of a document. All gradients
of a mini-batch are taken at W', so no W_t but the last is made (the dual form): with g_s = dl_s/d([k_s 1] W'),

    [q_t 1] W_t = [q_t 1] W' - c_i sum over s <= t of r_s (q_t.k_s + 1) g_s

Mini-batches are of M tokens of one document, whatever their places in a row. A chunk of at most M places ends at most
one mini-batch that earlier chunks began: tokens after its end, and documents that begin, have a W' of their own. The
state keeps W' - (start) and the sum of r_s dl_s/dW of the mini-batch that has not ended.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.ops.linear_attention import Memory, Row, Segments
from saccade.types import Queries

EPSILON = 1e-6  # added to the variance by the norm of f


@struct.dataclass
class FastWeights(Memory):
    """State of test-time training; axis 0 of every leaf is the batch.

    Attributes:
        sums: W' - start, the changes up to the newest mini-batch, the bias in the last row; R = H + 1.
        gradients: sum of the rated gradients of the newest mini-batch, before the factor c.
        count: tokens of the newest document.
    """

    gradients: Float[Array, 'B N R H']
    count: Int[Array, 'B']

    @classmethod
    def empty(cls, batch: int, heads: int, width: int) -> 'FastWeights':
        """Return the state before the first token."""
        memory = Memory.empty(batch, heads, width + 1, width)
        return cls(memory.sums, memory.segment, jnp.zeros_like(memory.sums), jnp.zeros(batch, jnp.int32))


@struct.dataclass
class Start:
    """Trained parameters of the model of each head: W at the start of a document, scale and bias of the norm."""

    weights: Float[Array, 'N R H']
    scale: Float[Array, 'N H']
    bias: Float[Array, 'N H']

    def norm(self, z: Queries) -> Queries:
        """Normalise each head, with parameters of its own."""
        centred = z - jnp.mean(z, axis=-1, keepdims=True)
        variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
        return self.scale * centred * jax.lax.rsqrt(variance + EPSILON) + self.bias

    def slope(self, z: Queries, target: Queries) -> Queries:
        """Return the gradient of |norm(z) - target|^2 / 2 with respect to z."""
        y, pull = jax.vjp(self.norm, z)
        return pull(y - target)[0]


@struct.dataclass
class MiniBatches:
    """Mini-batches of the documents of rows.

    Attributes:
        place: place of each token in its mini-batch, from 0; no meaning for padding.
        number: number of each token's mini-batch within a row, the state's being 0; 0 for padding.
        count: tokens of the newest document.
    """

    place: Int[Array, 'B T']
    number: Int[Array, 'B T']
    count: Int[Array, 'B']

    @classmethod
    def of(cls, segments: Segments, state: FastWeights, size: int) -> 'MiniBatches':
        """Return the mini-batches, of `size` tokens (M), of a chunk of these segments after the state."""
        row = Row.of(segments, state.segment, segments.shape[1])
        places = row.places(state.count)
        place = places % size
        number = jnp.where(row.real, jnp.cumsum(row.real & (place == 0), axis=1), 0)
        return cls(place, number, places[:, -1] + 1)


def train_and_read(
    q: Queries,
    k: Queries,
    v: Queries,
    rate: Float[Array, 'B T N'],
    factors: Float[Array, 'M'],
    start: Start,
    batches: MiniBatches,
    segments: Segments,
    state: FastWeights,
    chunk: int,
) -> tuple[Queries, FastWeights]:
    """Train each head's model on keys and values, and apply it to the queries; return the output and the new state.

    Args:
        rate: r, at least 0.
        factors: c of each place in a mini-batch of M tokens.
        batches: mini-batches of M tokens.
        chunk: tokens that are computed at once, at most M of them. Does not change the output.
    """
    row = Row.of(segments, state.segment, min(chunk, len(factors)))
    number = batches.number.astype(jnp.float32)  # exact: fewer than 2^24
    inputs = (_with_one(q), _with_one(k), v, rate, factors[batches.place], number)
    inputs = tuple(row.only(x) for x in inputs)
    begun = (state.sums, state.gradients, jnp.zeros_like(inputs[-1][:, 0]))
    (sums, gradients, _), z = row.scan(functools.partial(_advance, start, factors[-1]), begun, *inputs)
    return q + start.norm(z), FastWeights(sums, row.newest, gradients, batches.count)


def _advance(
    start: Start,
    last: Array,
    state: Any,
    same: Array,
    old: Array,
    q: Array,
    k: Array,
    v: Array,
    rate: Array,
    factor: Array,
    number: Array,
) -> tuple[Any, Array]:
    """Return the state after a chunk, and [q_t 1] W_t of each token. q and k end with a one."""
    changes, gradients, newest = state
    current = old & (number == newest[:, None])  # in the state's mini-batch
    later = old & ~current  # in the next one of the same document

    def outputs(x: Array, changes: Array, where: Array) -> Array:
        return jnp.where(where[..., None, None], jnp.einsum('BTNR,BNRH->BTNH', x, changes), 0.0)

    def total(slopes: Array, where: Array) -> Array:
        return jnp.einsum('BTNR,BTNH->BNRH', jnp.where(where[..., None, None], k, 0.0), slopes)

    rated, target = rate[..., None], v - k[..., :-1]
    of_start = jnp.einsum('BTNR,NRH->BTNH', k, start.weights)
    slopes = rated * start.slope(of_start + outputs(k, changes, current), target)
    ended = changes - last * (gradients + total(slopes, current))
    of_later = rated * start.slope(of_start + outputs(k, ended, later), target)
    slopes = jnp.where(later[..., None, None], of_later, slopes)

    together = same & (number[:, :, None] == number[:, None, :])
    products = jnp.where(together[:, None], jnp.einsum('BTNR,BSNR->BNTS', q, k), 0.0)
    steps = outputs(q, gradients, current) + jnp.einsum('BNTS,BSNH->BTNH', products, slopes)
    z = jnp.einsum('BTNR,NRH->BTNH', q, start.weights) + outputs(q, changes, current) + outputs(q, ended, later)

    final = jnp.maximum(newest, number.max(axis=1))
    goes_on = (final == newest)[:, None, None, None]
    after = jnp.where(old[:, -1, None, None, None], ended, 0.0)
    gradients = jnp.where(goes_on, gradients, 0.0) + total(slopes, number == final[:, None])
    return (jnp.where(goes_on, changes, after), gradients, final), z - factor[..., None, None] * steps


def _with_one(x: Queries) -> Float[Array, 'B T N R']:
    return jnp.pad(x, (*[(0, 0)] * 3, (0, 1)), constant_values=1.0)
