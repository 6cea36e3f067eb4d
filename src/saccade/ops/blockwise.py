# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Blockwise attention (FlashAttention), forward and backward, in memory linear in T.

Weights are computed online over key blocks (Milakov and Gimelshein 2018; Rabe and Staats 2021) with the recomputing
backward pass of FlashAttention (Dao et al. 2022, algorithms 1 and 4). Ours scans one static list of (query block,
key block) pairs that are live under the mask, differentiates each block's scores with `jax.vjp`, and computes weights
with the scoring's `OnlineSoftmax`: any mask, any trained score term and any online softmax is supported. It has no
forward-mode derivative (use `jacrev`).

The two passes are functions of any list of visits, so ring attention (`ops.ring`) also uses them.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.ops import remat
from saccade.ops.scoring import Scoring, grouped_products, weighted_values
from saccade.types import Keys, Mask, Mixed, Pairs, Queries, Values


def attend(q: Queries, k: Keys, v: Values, scoring: Scoring, q_block: int, k_block: int) -> Mixed:
    """Return the attention output, equal to `Scoring.attend`, in the dtype of v.

    Args:
        q_block, k_block: tokens per block; a shorter sequence is one block.
    """
    T, S = q.shape[1], k.shape[1]
    plan = BlockPlan.make(scoring, (min(q_block, T), min(k_block, S)), q)
    visits = whole_row(plan, scoring.mask, (T, S))
    q, k, v = pad(q, plan.blocks[0]), pad(k, plan.blocks[1]), pad(v, plan.blocks[1])
    return _attend(plan, visits, q, k, v, *leaves_of(scoring))[:, :T].astype(v.dtype)


@struct.dataclass
class Visits:
    """Sequence of (query block, key block) pairs.

    Attributes:
        q, k: index of each block among the local blocks.
        q_start, k_start: index in the row of a block's first token.
        k_end: end of the keys in the row; later keys of a block are padding.
        first, last: True for the first and the last visit of a query block, for terms with a carry.
    """

    q: Int[Array, '*V']
    k: Int[Array, '*V']
    q_start: Int[Array, '*V']
    k_start: Int[Array, '*V']
    k_end: Int[Array, '*V']
    first: Bool[Array, '*V']
    last: Bool[Array, '*V']


class Sums(NamedTuple):
    """Sums of the forward pass over key blocks: output [B T N H], statistic of the softmax, carry of the terms."""

    out: Mixed
    statistic: PyTree
    carry: PyTree


class Gradients(NamedTuple):
    """Gradients accumulated by the backward pass, in float32; and the terms' carries, for one query block at a time."""

    q: Queries
    k: Keys
    v: Values
    floats: list[Array]
    carry: PyTree
    carries: PyTree


@dataclass(frozen=True)
class BlockPlan:
    """Static values of a call.

    Attributes:
        treedef: treedef of the scoring, whose leaves are passed as arguments.
        is_float: marks the leaves with gradients.
        blocks: tokens per query block and per key block.
        carried: True if a term passes a carry between blocks.
    """

    treedef: Any
    is_float: tuple[bool, ...]
    blocks: tuple[int, int]
    carried: bool

    @classmethod
    def make(cls, scoring: Scoring, blocks: tuple[int, int], q: Queries) -> 'BlockPlan':
        """Return the plan for a scoring of these queries."""
        leaves, treedef = jax.tree.flatten(scoring)
        return cls(treedef, tuple(map(_is_float, leaves)), blocks, has_carry(scoring, q))

    def scoring(self, floats: list[Array], others: list[Array]) -> Scoring:
        """Return the scoring with these leaves."""
        floats_left, others_left = iter(floats), iter(others)
        leaves = [next(floats_left) if is_float else next(others_left) for is_float in self.is_float]
        return jax.tree.unflatten(self.treedef, leaves)

    def cuts(self) -> tuple[Callable[..., Any], ...]:
        """Return functions that slice a block of queries, of keys, and of a pytree of [B N T] of the queries."""
        q_block, k_block = self.blocks
        cut = functools.partial
        return cut(cut_rows, size=q_block), cut(cut_rows, size=k_block), cut(_heads_rows, size=q_block)

    def visits(self, q: Array | int, k: Array | int, keys: int, first: Any = False, last: Any = False) -> Visits:
        """Return the visits of blocks of a whole row with `keys` keys, by their indices."""
        q_block, k_block = self.blocks
        return Visits(q, k, q * q_block, k * k_block, jnp.full_like(k, keys), first, last)


def leaves_of(scoring: Scoring) -> tuple[list[Array], list[Array]]:
    """Split the leaves of a scoring into leaves with gradients and others."""
    leaves = jax.tree.leaves(scoring)
    return [leaf for leaf in leaves if _is_float(leaf)], [leaf for leaf in leaves if not _is_float(leaf)]


def has_carry(scoring: Scoring, q: Queries) -> bool:
    """Return True if a score term passes a carry from each key block to the preceding one."""
    return bool(jax.tree.leaves(jax.eval_shape(scoring.init_carry, q)))


def whole_row(plan: BlockPlan, mask: Mask, lengths: tuple[int, int]) -> Visits:
    """Return the live visits under a mask, with the key blocks of each query block from last to first."""
    rows, columns = (ranges(length, block) for length, block in zip(lengths, plan.blocks, strict=True))
    pairs = [
        (i, j)
        for i, row in enumerate(rows)
        for j, column in reversed(list(enumerate(columns)))
        if mask.live(row, column)
    ]
    q, k = np.array(pairs, int).reshape(-1, 2).T
    turns = np.flatnonzero(np.diff(q)) + 1
    first, last = np.zeros((2, len(q)), bool)
    first[[0, *turns][: len(q)]] = last[[*(turns - 1), -1][: len(q)]] = True
    return plan.visits(jnp.asarray(q), jnp.asarray(k), lengths[1], jnp.asarray(first), jnp.asarray(last))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attend(
    plan: BlockPlan, visits: Visits, q: Queries, k: Keys, v: Values, floats: list[Array], others: list[Array]
) -> Mixed:
    return _forward(plan, visits, q, k, v, floats, others)[0]


def _forward(
    plan: BlockPlan, visits: Visits, q: Queries, k: Keys, v: Values, floats: list[Array], others: list[Array]
) -> tuple[Mixed, PyTree]:
    scoring = plan.scoring(floats, others)
    out, known = finalise(scoring, accumulate(plan, scoring, visits, q, k, v, begin(plan, scoring, q, v)))
    return out, (visits, q, k, v, floats, others, out, known)


def _backward(plan: BlockPlan, saved: PyTree, dout: Mixed) -> tuple[PyTree, ...]:
    visits, q, k, v, floats, others, out, known = saved
    start = no_gradients(plan, visits, q, k, v, floats, others)
    sums = pull_back(plan, visits, q, k, v, floats, others, (dout, known, inner_products(dout, out)), start)
    return None, *narrowed(sums[:4], (q, k, v, floats)), None


_attend.defvjp(_forward, _backward)


def begin(plan: BlockPlan, scoring: Scoring, q: Queries, v: Values) -> Sums:
    """Return the sums of queries before the first key block."""
    B, T, N, _ = q.shape
    zeros = jnp.zeros((B, T, N, v.shape[-1]), jnp.float32)
    return Sums(zeros, scoring.softmax.start((B, N, T)), scoring.init_carry(q[:, : plan.blocks[0]]))


def accumulate(plan: BlockPlan, scoring: Scoring, visits: Visits, q: Queries, k: Keys, v: Values, sums: Sums) -> Sums:
    """Accumulate the visits of keys and values into the sums."""
    rows, columns, heads_rows = plan.cuts()

    def visit(state: Sums, this: Visits) -> tuple[Sums, None]:
        (out, statistic, carry), i = state, this.q
        q_part, k_part, v_part = rows(q, i), columns(k, this.k), columns(v, this.k)
        carry = _select(this.first, scoring.init_carry(q_part), carry)
        pairs = pairs_of(plan, scoring, this)
        scores, carry = scoring.scores(q_part, k_part, pairs, carry)
        scores = jnp.where(pairs.allowed, scores, -jnp.inf)
        here, weights, shrink = scoring.softmax.accumulate(heads_rows(statistic, i), scores)
        mixed = weighted_values(_dropped(scoring, weights, pairs), v_part)
        out = set_rows(out, rows(out, i) * _per_token(shrink) + mixed, i)
        return Sums(out, _set_heads_rows(statistic, here, i), carry), None

    return jax.lax.scan(visit, sums, visits)[0]


def finalise(scoring: Scoring, sums: Sums) -> tuple[Mixed, PyTree]:
    """Return the output after the last key block, and the row statistics for the backward pass."""
    share, known = scoring.softmax.finalise(sums.statistic)
    return sums.out * _per_token(share), known


def inner_products(dout: Mixed, out: Mixed) -> Float[Array, 'B N T 1']:
    """Return the sum over keys of weight times dweight, which equals the sum over H of output times its gradient."""
    with remat.recomputed():  # a sum over weights, were they kept, is no product
        return jnp.einsum('BTNH,BTNH->BNT', dout, out)[..., None]


def no_gradients(
    plan: BlockPlan, visits: Visits, q: Queries, k: Keys, v: Values, floats: list[Array], others: list[Array]
) -> Gradients:
    """Return gradients of zero, in float32."""
    scoring = plan.scoring(floats, others)
    wide = jax.tree.map(lambda x: jnp.zeros(x.shape, jnp.float32), (q, k, v, floats))
    one = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((), leaf.dtype), visits)
    carries = jax.tree.map(jnp.zeros_like, jax.eval_shape(lambda one: _carries(plan, scoring, q, k, one), one))
    dcarry = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape[1:], leaf.dtype), carries)
    return Gradients(*wide, dcarry, carries)


def pull_back(
    plan: BlockPlan,
    visits: Visits,
    q: Queries,
    k: Keys,
    v: Values,
    floats: list[Array],
    others: list[Array],
    output: tuple[Mixed, PyTree, Float[Array, 'B N T 1']],
    sums: Gradients,
) -> Gradients:
    """Accumulate the gradients of the visits, in reverse order.

    Args:
        output: gradient of the output; row statistics from `finalise`; and `inner_products`.
    """
    (dout, known, inner), scoring = output, plan.scoring(floats, others)
    rows, columns, heads_rows = plan.cuts()

    def visit(state: Gradients, this: Visits) -> tuple[Gradients, None]:
        (dq, dk, dv, dfloats, dcarry, carries), i, j = state, this.q, this.k
        q_part, k_part, v_part, dout_part = rows(q, i), columns(k, j), columns(v, j), rows(dout, i)
        if plan.carried:
            with remat.recomputed():
                carries = jax.lax.cond(this.last, lambda: _carries(plan, scoring, q, k, this), lambda: carries)
        carry = jax.tree.map(lambda leaf: leaf[j], carries)

        def block(
            q_part: Queries, k_part: Keys, floats: list[Array], carry: PyTree
        ) -> tuple[tuple[Array, PyTree, Any], Pairs]:
            scoring = plan.scoring(floats, others)
            pairs = pairs_of(plan, scoring, this)
            return (*scoring.scores(q_part, k_part, pairs, carry), scoring.softmax), pairs

        with remat.recomputed():
            (scores, _, softmax), pull, pairs = jax.vjp(block, q_part, k_part, floats, carry, has_aux=True)
        scores = jnp.where(pairs.allowed, scores, -jnp.inf)
        dweights = _dropped(scoring, grouped_products(dout_part, v_part), pairs)
        weights, dscores, dsoftmax = softmax.backward(scores, heads_rows(known, i), dweights, heads_rows(inner, i))
        # Reversed, the last visit of a query block comes first, and nothing to the left of it reads its carry.
        dcarry = _select(this.last, jax.tree.map(jnp.zeros_like, dcarry), dcarry)
        dq_part, dk_part, dfloats_part, dcarry = pull((dscores, dcarry, dsoftmax))
        dv_part = value_gradient(_dropped(scoring, weights, pairs), dout_part, v.shape[-2])
        dq = set_rows(dq, rows(dq, i) + dq_part, i)
        dk, dv = set_rows(dk, columns(dk, j) + dk_part, j), set_rows(dv, columns(dv, j) + dv_part, j)
        return Gradients(dq, dk, dv, jax.tree.map(jnp.add, dfloats, dfloats_part), dcarry, carries), None

    return jax.lax.scan(visit, sums, visits, reverse=True)[0]


def narrowed(wide: PyTree, given: PyTree) -> PyTree:
    """Cast gradients to the dtypes of the inputs."""
    return jax.tree.map(lambda wide, given: wide.astype(given.dtype), wide, given)


def _carries(plan: BlockPlan, scoring: Scoring, q: Queries, k: Keys, this: Visits) -> PyTree:
    """Recompute the terms' carry at each key block of a query block: linear in S, for one query block at a time."""
    q_part = cut_rows(q, this.q, plan.blocks[0])

    def visit(carry: PyTree, j: Array) -> tuple[PyTree, PyTree]:
        k_part = cut_rows(k, j, plan.blocks[1])
        pairs = pairs_of(plan, scoring, this.replace(k=j, k_start=j * plan.blocks[1]))
        return scoring.scores(q_part, k_part, pairs, carry)[1], carry

    blocks = jnp.arange(k.shape[1] // plan.blocks[1])
    return jax.lax.scan(visit, scoring.init_carry(q_part), blocks, reverse=True)[1]


def pairs_of(plan: BlockPlan, scoring: Scoring, this: Visits) -> Pairs:
    q_block, k_block = plan.blocks
    pairs = scoring.pairs(this.q_start + jnp.arange(q_block), this.k_start + jnp.arange(k_block))
    return pairs.replace(allowed=pairs.allowed & (pairs.k_index < this.k_end))


def _dropped(scoring: Scoring, weights: Array, pairs: Pairs) -> Array:
    return weights if scoring.dropout is None else weights * scoring.kept(weights.shape[:2], pairs)


def value_gradient(weights: Array, dout: Mixed, heads: int) -> Values:
    values = jnp.zeros((*weights.shape[:1], weights.shape[-1], heads, dout.shape[-1]))
    with remat.recomputed():
        _, pull = jax.vjp(functools.partial(weighted_values, weights), values)
    return pull(dout.astype(jnp.float32))[0]


def _is_float(leaf: Array) -> bool:
    return jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)


def ranges(length: int, block: int) -> list[range]:
    """Return the indices of each block of a row."""
    return [range(start, min(start + block, length)) for start in range(0, length, block)]


def pad(x: Array, block: int) -> Array:
    """Pad tokens (axis 1) with zeros to whole blocks."""
    return jnp.pad(x, ((0, 0), (0, -x.shape[1] % block), (0, 0), (0, 0)))


def cut_rows(x: Array, i: Array | int, size: int) -> Array:
    return jax.lax.dynamic_slice_in_dim(x, i * size, size, axis=1)


def set_rows(x: Array, part: Array, i: Array) -> Array:
    return jax.lax.dynamic_update_slice_in_dim(x, part, i * part.shape[1], axis=1)


def _heads_rows(x: PyTree, i: Array | int, size: int) -> PyTree:
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, i * size, size, axis=2), x)


def _set_heads_rows(x: PyTree, part: PyTree, i: Array) -> PyTree:
    def put(leaf: Array, part: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(leaf, part, i * part.shape[2], axis=2)

    return jax.tree.map(put, x, part)


def _per_token(x: Array) -> Array:
    """[B N T] -> [B T N 1]."""
    return jnp.swapaxes(x, -1, -2)[..., None]


def _select(condition: Array, yes: PyTree, no: PyTree) -> PyTree:
    choose: Callable[[Array, Array], Array] = functools.partial(jnp.where, condition)
    return jax.tree.map(choose, yes, no)
