# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Locality-sensitive hashing of tokens into buckets, and softmax attention within chunks of a bucket.

Kitaev, Kaiser, Levskaya 2020, "Reformer", section 2, https://arxiv.org/abs/2001.04451; the hash is of Andoni et al.
2015, "Practical and Optimal LSH for Angular Distance", https://arxiv.org/abs/1509.02897
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from jaxtyping import Array, Bool, Float, Int

_SELF = -1e5  # score of a token with itself: its weight is 0 unless there is no other


@functools.cache
def rotations(heads: int, width: int, rounds: int, buckets: int, seed: int) -> Float[np.ndarray, 'N H R X']:
    """Draw random maps to half as many directions as there are buckets, from a generator whose stream is frozen."""
    random = np.random.RandomState(seed)
    return random.standard_normal((heads, width, rounds, buckets // 2)).astype(np.float32)


def buckets_of(q: Float[Array, 'B T N H'], directions: Float[np.ndarray, 'N H R X']) -> Int[Array, 'B N R T']:
    """Return the bucket in each round: the nearest of the directions and their opposites. There is no gradient."""
    turned = jnp.einsum('BTNH,NHRX->BNRTX', jax.lax.stop_gradient(q).astype(jnp.float32), directions)
    return jnp.argmax(jnp.concatenate([turned, -turned], axis=-1), axis=-1).astype(jnp.int32)


@struct.dataclass
class Hashed:
    """Hashed tokens, whose chunks are counted within a bucket of a document, so that no other token moves them.

    Attributes:
        runs: document and bucket, as one number, in each round; less than the number of buckets for padding.
        chunks: number of the chunk within the run.
    """

    runs: Int[Array, 'B N R T']
    chunks: Int[Array, 'B N R T']

    def reaches(self, keys: 'Hashed') -> Bool[Array, '*pairs']:
        """Return whether a query reads a key of the same run, in its own chunk or in the one before."""
        before = self.chunks - keys.chunks
        return (self.runs == keys.runs) & (before >= 0) & (before <= 1)


def attend_hashed(
    q: Float[Array, 'B T N H'],
    k: Float[Array, 'B T N H'],
    v: Float[Array, 'B T N H'],
    runs: Int[Array, 'B N R T'],
    chunk: int,
    causal: bool,
) -> tuple[Float[Array, 'B T N H'], Hashed]:
    """Attend within chunks of M tokens of each run, sorted by position; return the output, and the hashed tokens.

    Rounds are combined by their sums of exponentials, where a key that n rounds find counts 1 / n in each: one softmax
    over the keys that any round finds. Each query gathers 2 M keys, in an order that no other token changes.
    """
    T, R = runs.shape[-1], runs.shape[2]
    order = jnp.argsort(runs, axis=-1, stable=True)
    ordered, places = jnp.take_along_axis(runs, order, axis=-1), jnp.arange(T)
    starts = jnp.pad(ordered[..., 1:] != ordered[..., :-1], [(0, 0)] * 3 + [(1, 0)], constant_values=True)
    ranks = places - jax.lax.cummax(jnp.where(starts, places, 0), axis=3)
    place = jnp.argsort(order, axis=-1)
    rank = jnp.take_along_axis(ranks, place, axis=-1)
    hashed = Hashed(runs, rank // chunk)

    near = (place - rank % chunk - chunk)[..., None] + jnp.arange(2 * chunk)
    within = (near >= 0) & (near < T)
    index = jax.vmap(jax.vmap(jax.vmap(lambda row, at: row[at])))(order, jnp.clip(near, 0, T - 1))
    of_each = jax.vmap(jax.vmap(lambda row, at: row[at]))  # [B N T ...] at [B N R T C]
    found = jnp.stack([_reached(hashed, number, index, of_each) for number in range(R)])
    allowed = jnp.stack([found[number, :, :, number] for number in range(R)], axis=2) & within
    if causal:
        allowed &= index <= places[:, None]

    keys, values = (of_each(jnp.swapaxes(x, 1, 2), index) for x in (k, v))
    scores = jnp.einsum('BTNH,BNRTCH->BNRTC', q, keys, preferred_element_type=jnp.float32)
    scores = jnp.where(index == places[:, None], _SELF, scores) - jnp.log(jnp.maximum(found.sum(axis=0), 1))
    scores = jnp.where(allowed, scores, -jnp.inf)  # never all of them: a token is in its own chunk
    weights = jax.nn.softmax(scores, axis=(2, 4))
    return jnp.einsum('BNRTC,BNRTCH->BTNH', weights.astype(v.dtype), values), hashed


def _reached(hashed: Hashed, number: int, index: Int[Array, 'B N R T C'], of_each: Any) -> Bool[Array, 'B N R T C']:
    """Return True where queries reach the keys at an index in one round."""
    runs, chunks = (x[:, :, number] for x in (hashed.runs, hashed.chunks))
    queries = Hashed(runs[:, :, None, :, None], chunks[:, :, None, :, None])
    return queries.reaches(Hashed(of_each(runs, index), of_each(chunks, index)))
