# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Blockwise attention (FlashAttention), forward and backward, in memory linear in T.

Weights are made online over key blocks (Milakov and Gimelshein 2018; Rabe and Staats 2021) with the recomputing
backward pass of FlashAttention (Dao et al. 2022, algorithms 1 and 4). Ours scans one static list of (query block,
key block) pairs, those that the mask leaves alive, takes each block's scores through `jax.vjp`, and leaves it to the
scoring's `OnlineSoftmax` how scores become weights: any mask, any trained score term and any online softmax is
served. It has no forward-mode derivative (use `jacrev`).
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from saccade.ops import remat
from saccade.ops.scoring import Scoring, grouped_products, weighted_values
from saccade.types import Keys, Mixed, Pairs, Queries, Values


def attend(q: Queries, k: Keys, v: Values, scoring: Scoring, q_block: int, k_block: int) -> Mixed:
    """Return the attention output, equal to that of `plain.attend`, in the dtype of v.

    Args:
        q_block, k_block: tokens in a block; shorter sequences make one block.
    """
    T, S = q.shape[1], k.shape[1]
    plan = _Plan.make(scoring, (T, S), (min(q_block, T), min(k_block, S)), q)
    leaves = jax.tree.leaves(scoring)
    floats = [leaf for leaf in leaves if _is_float(leaf)]
    others = [leaf for leaf in leaves if not _is_float(leaf)]
    q, k, v = _pad(q, plan.blocks[0]), _pad(k, plan.blocks[1]), _pad(v, plan.blocks[1])
    run = _attend if remat.recomputing() else _attend_keeping
    return run(plan, q, k, v, floats, others)[:, :T].astype(v.dtype)


@dataclass(frozen=True)
class _Plan:
    """What is known while tracing.

    Attributes:
        treedef: of the scoring, whose leaves travel as arguments.
        keys: number of keys before padding.
        blocks: tokens in a query block and in a key block.
        pairs: (query block, key block), the key blocks of one query block from the last to the first.
        carried: whether a term passes a carry between blocks.
    """

    treedef: Any
    is_float: tuple[bool, ...]
    keys: int
    blocks: tuple[int, int]
    pairs: tuple[tuple[int, int], ...]
    carried: bool

    @classmethod
    def make(cls, scoring: Scoring, lengths: tuple[int, int], blocks: tuple[int, int], q: Queries) -> '_Plan':
        leaves, treedef = jax.tree.flatten(scoring)
        carried = bool(jax.tree.leaves(jax.eval_shape(scoring.init_carry, q)))
        rows, columns = (_ranges(length, block) for length, block in zip(lengths, blocks, strict=True))
        pairs = tuple(
            (i, j)
            for i, row in enumerate(rows)
            for j, column in reversed(list(enumerate(columns)))
            if scoring.mask.live(row, column)
        )
        return cls(treedef, tuple(map(_is_float, leaves)), lengths[1], blocks, pairs, carried)

    def scoring(self, floats: list[Array], others: list[Array]) -> Scoring:
        floats_left, others_left = iter(floats), iter(others)
        leaves = [next(floats_left) if is_float else next(others_left) for is_float in self.is_float]
        return jax.tree.unflatten(self.treedef, leaves)

    def cuts(self) -> tuple[Callable[..., Any], ...]:
        """What cuts a block out of queries, out of keys, and out of a pytree of [B N T] of the queries."""
        q_block, k_block = self.blocks
        cut = functools.partial
        return cut(_rows, size=q_block), cut(_rows, size=k_block), cut(_heads_rows, size=q_block)

    def visits(self) -> tuple[Array, Array, Array, Array]:
        """Query block, key block, and whether it is the first or the last visit of its query block."""
        rows = [i for i, _ in self.pairs]
        first = [number == 0 or rows[number - 1] != i for number, i in enumerate(rows)]
        last = [*first[1:], True]
        columns = [j for _, j in self.pairs]
        return (
            jnp.array(rows, int),
            jnp.array(columns, int),
            jnp.array(first, bool),
            jnp.array(last[: len(rows)], bool),
        )


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attend(plan: _Plan, q: Queries, k: Keys, v: Values, floats: list[Array], others: list[Array]) -> Mixed:
    return _attend_keeping(plan, q, k, v, floats, others)


def _attend_keeping(plan: _Plan, q: Queries, k: Keys, v: Values, floats: list[Array], others: list[Array]) -> Mixed:
    """Attend so that the backward pass is JAX's own, which keeps the weights of every block."""
    return _forward(plan, q, k, v, floats, others)[0]


def _forward(
    plan: _Plan, q: Queries, k: Keys, v: Values, floats: list[Array], others: list[Array]
) -> tuple[Mixed, PyTree]:
    scoring = plan.scoring(floats, others)
    softmax, (B, T, N, _) = scoring.softmax, q.shape
    rows, columns, heads_rows = plan.cuts()

    def visit(state: PyTree, pair: PyTree) -> tuple[PyTree, None]:
        (out, statistic, carry), (i, j, first, _) = state, pair
        q_part, k_part, v_part = rows(q, i), columns(k, j), columns(v, j)
        carry = _select(first, scoring.init_carry(q_part), carry)
        pairs = _pairs(plan, scoring, i, j)
        scores, carry = scoring.scores(q_part, k_part, pairs, carry)
        scores = jnp.where(pairs.allowed, scores, -jnp.inf)
        here, weights, shrink = softmax.accumulate(heads_rows(statistic, i), scores)
        mixed = weighted_values(_dropped(scoring, weights, pairs), v_part)
        out = _set_rows(out, rows(out, i) * _per_token(shrink) + mixed, i)
        return (out, _set_heads_rows(statistic, here, i), carry), None

    zeros = jnp.zeros((B, T, N, v.shape[-1]), jnp.float32)
    start = (zeros, softmax.start((B, N, T)), scoring.init_carry(q[:, : plan.blocks[0]]))
    (out, statistic, _), _ = jax.lax.scan(visit, start, plan.visits())
    share, known = softmax.finalise(statistic)
    out = out * _per_token(share)
    return out, (q, k, v, floats, others, out, known)


def _backward(plan: _Plan, saved: PyTree, dout: Mixed) -> tuple[PyTree, ...]:
    q, k, v, floats, others, out, known = saved
    inner = jnp.einsum('BTNH,BTNH->BNT', dout, out)[..., None]
    scoring = plan.scoring(floats, others)
    rows, columns, heads_rows = plan.cuts()

    def visit(state: PyTree, pair: PyTree) -> tuple[PyTree, None]:
        (dq, dk, dv, dfloats, dcarry, carries), (i, j, _, last) = state, pair
        q_part, k_part, v_part, dout_part = rows(q, i), columns(k, j), columns(v, j), rows(dout, i)
        if plan.carried:
            carries = jax.lax.cond(last, lambda: _carries(plan, scoring, q, k, i), lambda: carries)
        carry, pairs = jax.tree.map(lambda leaf: leaf[j], carries), _pairs(plan, scoring, i, j)

        def block(q_part: Queries, k_part: Keys, floats: list[Array], carry: PyTree) -> tuple[Array, PyTree, Any]:
            scoring = plan.scoring(floats, others)
            return *scoring.scores(q_part, k_part, pairs, carry), scoring.softmax

        (scores, _, softmax), pull = jax.vjp(block, q_part, k_part, floats, carry)
        scores = jnp.where(pairs.allowed, scores, -jnp.inf)
        dweights = _dropped(scoring, grouped_products(dout_part, v_part), pairs)
        weights, dscores, dsoftmax = softmax.backward(scores, heads_rows(known, i), dweights, heads_rows(inner, i))
        # Reversed, the last visit of a query block comes first, and nothing to the left of it reads its carry.
        dcarry = _select(last, jax.tree.map(jnp.zeros_like, dcarry), dcarry)
        dq_part, dk_part, dfloats_part, dcarry = pull((dscores, dcarry, dsoftmax))
        dv_part = _value_gradient(_dropped(scoring, weights, pairs), dout_part, v.shape[-2])
        dq = _set_rows(dq, rows(dq, i) + dq_part, i)
        dk, dv = _set_rows(dk, columns(dk, j) + dk_part, j), _set_rows(dv, columns(dv, j) + dv_part, j)
        return (dq, dk, dv, jax.tree.map(jnp.add, dfloats, dfloats_part), dcarry, carries), None

    gradients = jax.tree.map(lambda x: jnp.zeros(x.shape, jnp.float32), (q, k, v))
    carries = jax.tree.map(jnp.zeros_like, jax.eval_shape(lambda: _carries(plan, scoring, q, k, 0)))
    dcarry = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape[1:], leaf.dtype), carries)
    wide = [jnp.zeros(leaf.shape, jnp.float32) for leaf in floats]
    start = (*gradients, wide, dcarry, carries)
    (dq, dk, dv, dfloats, _, _), _ = jax.lax.scan(visit, start, plan.visits(), reverse=True)
    narrow = jax.tree.map(lambda wide, given: wide.astype(given.dtype), (dq, dk, dv, dfloats), (q, k, v, floats))
    return *narrow, None


_attend.defvjp(_forward, _backward)


def _carries(plan: _Plan, scoring: Scoring, q: Queries, k: Keys, i: Array | int) -> PyTree:
    """What the terms' carry was when each key block met query block i: linear in S, for one query block at a time."""
    q_part = _rows(q, i, plan.blocks[0])

    def visit(carry: PyTree, j: Array) -> tuple[PyTree, PyTree]:
        k_part = _rows(k, j, plan.blocks[1])
        return scoring.scores(q_part, k_part, _pairs(plan, scoring, i, j), carry)[1], carry

    blocks = jnp.arange(k.shape[1] // plan.blocks[1])
    return jax.lax.scan(visit, scoring.init_carry(q_part), blocks, reverse=True)[1]


def _pairs(plan: _Plan, scoring: Scoring, i: Array | int, j: Array | int) -> Pairs:
    q_block, k_block = plan.blocks
    pairs = scoring.pairs(i * q_block + jnp.arange(q_block), j * k_block + jnp.arange(k_block))
    return pairs.replace(allowed=pairs.allowed & (pairs.k_index < plan.keys))


def _dropped(scoring: Scoring, weights: Array, pairs: Pairs) -> Array:
    return weights if scoring.dropout is None else weights * scoring.kept(weights.shape[:2], pairs)


def _value_gradient(weights: Array, dout: Mixed, heads: int) -> Values:
    _, pull = jax.vjp(
        functools.partial(weighted_values, weights),
        jnp.zeros((*weights.shape[:1], weights.shape[-1], heads, dout.shape[-1])),
    )
    return pull(dout.astype(jnp.float32))[0]


def _is_float(leaf: Array) -> bool:
    return jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)


def _ranges(length: int, block: int) -> list[range]:
    return [range(start, min(start + block, length)) for start in range(0, length, block)]


def _pad(x: Array, block: int) -> Array:
    return jnp.pad(x, ((0, 0), (0, -x.shape[1] % block), (0, 0), (0, 0)))


def _rows(x: Array, i: Array | int, size: int) -> Array:
    return jax.lax.dynamic_slice_in_dim(x, i * size, size, axis=1)


def _set_rows(x: Array, part: Array, i: Array) -> Array:
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
