# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Output projection to the vocabulary, and losses of its logits in chunks of each row.

    logits_t = cap tanh((x_t W + b) / cap);   for each chunk of a row: logits, losses, and the logits are discarded

The backward pass recomputes the logits of a chunk, and accumulates the gradients of W and b in float32 over the chunks.
Rows stay whole, so their sharding does not change. Wijmans et al. 2024, "Cut Your Losses in Large-Vocabulary Language
Models", https://arxiv.org/abs/2411.09009, also split the vocabulary, in a kernel. Memory: B c V for chunks of c tokens
and V D for the sum, instead of B T V; cost: one more product of B T D V.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Float, PyTree

from saccade.ops.devices import device
from saccade.ops.project import project

ALIGNED = 64  # entries
# From logits of one or more projections, and other values of each token, to losses and values without gradient.
Score = Callable[..., tuple[PyTree, PyTree]]


@struct.dataclass
class OutputProjection:
    """Hidden states with their projection to the vocabulary, from which logits are computed later.

    Attributes:
        hidden: input of the projection.
        kernel: [V D] for a tied embedding, else [D V].
        tied: the kernel is the embedding.
        bias: bias of the logits, or None.
        cap: softcap of the logits within (-cap, cap); None for no bound.
    """

    hidden: Float[Array, 'B T D']
    kernel: Float[Array, '_ _']
    tied: bool = struct.field(pytree_node=False)
    bias: Float[Array, 'V'] | None = None
    cap: float | None = struct.field(pytree_node=False, default=None)

    def logits(self) -> Float[Array, 'B T V']:
        """Return all logits."""
        entries = self.kernel.shape[0 if self.tied else 1]
        kernel = self._aligned(entries)
        logits = jnp.einsum('BTD,VD->BTV', self.hidden, kernel) if self.tied else project(self.hidden, kernel)
        logits = logits[..., :entries]
        if self.bias is not None:
            logits = logits + self.bias
        return logits if self.cap is None else self.cap * jnp.tanh(logits / self.cap)

    def _aligned(self, entries: int) -> Float[Array, '_ _']:
        """Return the kernel, padded on a GPU with zeros to a multiple of `ALIGNED` entries.

        Its matrix units read rows of 16-bit numbers only from addresses that are a multiple of 16 bytes: for 50257
        entries the three products took 11.9 of a step's 47 ms on an H100.
        """
        more = -entries % ALIGNED
        if not more or device().platform != 'gpu' or self.kernel.dtype.itemsize != 2:
            return self.kernel
        return jnp.pad(self.kernel, ((0, more), (0, 0)) if self.tied else ((0, 0), (0, more)))


def score_in_chunks(
    score: Score, projections: tuple[OutputProjection, ...], given: tuple[Array, ...], chunk: int
) -> tuple[PyTree, PyTree]:
    """Score the logits of `chunk` tokens of each row at a time.

    Args:
        score: called as score(*logits, *given) with [B chunk ...] of each; its results are also [B chunk ...]. The
            first results, the losses, have gradients. Values that it closes over, such as a traced label smoothing,
            have none.
        projections: projections of the same tokens. The first has gradients; others, such as a teacher's, have none.
        given: [B T ...] each, such as the targets.
        chunk: in tokens of a row; the last chunk is padded.
    """

    def of_a_chunk(places: PyTree) -> tuple[Array, ...]:
        hidden, given = jax.tree.map(lambda leaf: leaf[0], places)
        return *_logits(projections, hidden), *given

    like = jax.eval_shape(of_a_chunk, _cut(([each.hidden for each in projections], given), chunk))
    # The backward pass may be traced after the program whose traced numbers the score closes over.
    score, numbers = jax.closure_convert(score, *like)
    return _scored(score, projections, given, tuple(numbers), chunk)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 4))
def _scored(
    score: Score,
    projections: tuple[OutputProjection, ...],
    given: tuple[Array, ...],
    numbers: tuple[Array, ...],
    chunk: int,
) -> tuple[PyTree, PyTree]:
    return _forward(score, projections, given, numbers, chunk)[0]


def _forward(
    score: Score,
    projections: tuple[OutputProjection, ...],
    given: tuple[Array, ...],
    numbers: tuple[Array, ...],
    chunk: int,
) -> tuple[tuple[PyTree, PyTree], Any]:
    def visit(carry: None, places: Any) -> tuple[None, tuple[PyTree, PyTree]]:
        hidden, given = places
        return carry, score(*_logits(projections, hidden), *given, *numbers)

    found = jax.lax.scan(visit, None, _cut(([each.hidden for each in projections], given), chunk))[1]
    length = projections[0].hidden.shape[1]
    return jax.tree.map(lambda leaf: _joined(leaf)[:, :length], found), (projections, given, numbers)


def _backward(score: Score, chunk: int, saved: Any, cotangents: tuple[PyTree, PyTree]) -> tuple[Any, None, None]:
    (first, *others), given, numbers = saved
    weights = first.replace(hidden=None)

    def visit(sums: OutputProjection, places: Any) -> tuple[OutputProjection, Array]:
        (hidden, *fixed), given, dlosses = places

        def losses(projection: OutputProjection) -> PyTree:
            return score(projection.logits(), *_logits(others, fixed), *given, *numbers)[0]

        (gradient,) = jax.vjp(losses, first.replace(hidden=hidden))[1](dlosses)
        sums = jax.tree.map(lambda total, leaf: total + leaf, sums, gradient.replace(hidden=None))
        return sums, gradient.hidden

    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, jnp.float32), weights)
    places = _cut(([first.hidden, *(each.hidden for each in others)], given, cotangents[0]), chunk)
    sums, hidden = jax.lax.scan(visit, zeros, places)
    gradient = jax.tree.map(lambda total, leaf: total.astype(leaf.dtype), sums, weights)
    hidden = _joined(hidden)[:, : first.hidden.shape[1]]
    return (gradient.replace(hidden=hidden), *(None for _ in others)), None, None


_scored.defvjp(_forward, _backward)


def _logits(projections: Any, hidden: Any) -> list[Array]:
    """Return the logits of each projection for these hidden states."""
    return [each.replace(hidden=x).logits() for each, x in zip(projections, hidden, strict=True)]


def _cut(tree: PyTree, chunk: int) -> PyTree:
    """Split [B T ...] into [chunks B chunk ...], padded with zeros at the end."""

    def cut(leaf: Array) -> Array:
        missing = -leaf.shape[1] % chunk
        padded = jnp.pad(leaf, ((0, 0), (0, missing), *((0, 0),) * (leaf.ndim - 2))) if missing else leaf
        return rearrange(padded, 'B (chunks T) ... -> chunks B T ...', T=chunk)

    return jax.tree.map(cut, tree)


def _joined(leaf: Array) -> Array:
    return rearrange(leaf, 'chunks B T ... -> B (chunks T) ...')
