# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention that gathers the chosen keys of each query: FLOPs and memory are proportional to their number.

    y_i = softmax(scale q_i K_I^T + terms) V_I,    I = the chosen keys of query i

Selected keys are read as in DeepSeek-AI 2025, "DeepSeek-V3.2", section 2.1, https://arxiv.org/abs/2512.02556: a query
reads its own keys, for all heads that share its choice. Ours scans blocks of queries, few enough that their gathered
keys stay small; the backward pass gathers and scores them again, and adds the gradients of the keys in place. Any
softmax variant serves. Where many queries choose the same block of keys, `ops.block_sparse` reads it once for them.
It has no forward-mode derivative.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from einops import rearrange, reduce, repeat
from flax import struct
from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.ops import remat
from saccade.ops.blockwise import BlockPlan, leaves_of, narrowed
from saccade.ops.dropout import keep_chosen
from saccade.ops.scoring import Scoring, weighted_values
from saccade.types import KeyIndex, Keys, Mixed, Pairs, Queries, QueryIndex, Values

_NUMBERS = 2**18  # gathered at once for each row: 1 MiB in float32, which a core's cache holds


@struct.dataclass
class ChosenTokens:
    """Keys that each query attends to.

    Attributes:
        at: index of each chosen key, for each query and group of heads, without duplicates; S for none. Score terms
            with a carry need them in ascending order, and one group.
        q_index, k_index: as in Pairs.
    """

    at: Int[Array, 'B J T C']
    q_index: QueryIndex
    k_index: KeyIndex

    def allowed(self) -> Bool[Array, 'B J T S']:
        """Return the mask of these keys."""
        S = self.k_index.shape[-1]
        none = jnp.zeros((*self.at.shape[:-1], S + 1), bool)
        return jnp.put_along_axis(none, self.at, True, axis=-1, inplace=False)[..., :S]


def attend_to_tokens(
    q: Queries, k: Keys, v: Values, scoring: Scoring, chosen: ChosenTokens
) -> tuple[Mixed, Float[Array, 'B T C']]:
    """Return the attention output, in the dtype of v, and the magnitudes of each key's weights, summed over heads."""
    B, T = q.shape[:2]
    plan = BlockPlan.make(scoring, (1, 1), q)
    keys = tuple(by_group(x, chosen.at.shape[1]) for x in (k, v))
    rows = jnp.broadcast_to(chosen.q_index, (B, T)), jnp.broadcast_to(jnp.arange(B)[:, None], (B, T))
    floats, others = leaves_of(scoring)
    k_index = jnp.broadcast_to(chosen.k_index, (B, k.shape[1]))
    out, weights = over_chosen(_Attend(plan, B), q, keys, floats, chosen.at, rows, (others, k_index))
    return out.astype(v.dtype), weights


@dataclass(frozen=True)
class _Attend:
    """Attention of a block of queries to their gathered keys. Attributes: plan, of the scoring; batch, rows in all."""

    plan: BlockPlan
    batch: int

    def __call__(
        self, q: Queries, keys: tuple[Array, Array], floats: list[Array], at: Array, rows: PyTree, others: PyTree
    ) -> tuple[Mixed, Float[Array, 'B X C']]:
        (q_index, row), (leaves, k_index), N, X = rows, others, q.shape[2], q.shape[1]
        scoring, S = self.plan.scoring(floats, leaves), k_index.shape[-1]
        q = rearrange(q, 'B X N H -> (B X) 1 N H')
        k, v = (rearrange(x, 'B J X C K H -> (B X) C (J K) H') for x in keys)
        one = rearrange(at, 'B J X C -> (B X) J 1 C')
        first = jnp.minimum(one[:, 0, 0], S - 1)
        row = rearrange(row, 'B X -> (B X)')
        features = {name: leaf[row[:, None], first] for name, leaf in scoring.features.items()}
        places = rearrange(q_index, 'B X -> (B X) 1'), k_index[row[:, None], first]
        allowed = repeat(one < S, 'R J T C -> R (J G) T C', G=N // one.shape[1] if one.shape[1] > 1 else 1)
        pairs = Pairs(*places, allowed, scoring.scale, features)
        scores, _ = scoring.scores(q, k, pairs, scoring.init_carry(q))
        weights = mixed = scoring.softmax(scores, allowed)
        if scoring.dropout is not None:
            mixed = mixed * kept(
                scoring, (self.batch, N), row, repeat(places[0], 'R T -> R J T', J=one.shape[1]), one[:, :, 0]
            )
        out = rearrange(weighted_values(mixed, v), '(B X) 1 N H -> B X N H', X=X)
        return out, reduce(jnp.abs(weights), '(B X) N 1 C -> B X C', 'sum', X=X)


def kept(
    scoring: Scoring, shape: tuple[int, int], rows: Array, q_index: Array, k_index: Array
) -> Float[Array, 'B N T S']:
    """Return the factors by which dropout multiplies the weights, for indices as in `keep_chosen`."""
    share = 1.0 - scoring.dropout.rate
    return keep_chosen(jax.random.wrap_key_data(scoring.dropout.key), share, shape, rows, q_index, k_index) / share


def by_group(x: Keys, groups: int) -> Float[Array, 'B J S _ H']:
    """Return keys or values by the group of heads that chooses, with the key heads that it reads."""
    repeated = repeat(x, 'B S K H -> B S (K r) H', r=max(groups // x.shape[2], 1))
    return rearrange(repeated, 'B S (J K) H -> B J S K H', J=groups)


Function = Callable[[PyTree, PyTree, list[Array], Array, PyTree, PyTree], PyTree]


def over_chosen(
    function: Function,
    queries: PyTree,
    keys: PyTree,
    floats: list[Array],
    at: Int[Array, 'B J T C'],
    rows: PyTree,
    others: PyTree,
) -> PyTree:
    """Apply a function to blocks of queries and their gathered keys, in memory linear in T, forward and backward.

    Args:
        function: of a block X of `queries`, of gathered keys [B J X C ...], of `floats`, of the indices [B J X C], of
            a block of `rows` and of `others`; returns arrays [B X ...]. It is compared by equality.
        queries, keys: leaves [B T ...] and [B J S ...], with gradients.
        floats: other arrays with gradients.
        at: index of each chosen key; S for none, where zeros are gathered.
        rows: leaves [B T ...] without gradients.
        others: other arrays without gradients.
    """
    T, S = at.shape[2], jax.tree.leaves(keys)[0].shape[2]
    read = sum(math.prod(leaf.shape[3:]) for leaf in jax.tree.leaves(keys))
    most = max(1, _NUMBERS // max(1, read * at.shape[1] * at.shape[-1]))
    size = -(-T // -(-T // most))  # blocks of nearly equal sizes, to fill up little
    cut = functools.partial(blocks_of, size=size)
    at = cut(jnp.swapaxes(at, 1, 2), fill=S)
    outputs = _over(function, jax.tree.map(cut, queries), keys, floats, at, jax.tree.map(cut, rows), others)
    return jax.tree.map(lambda y: rearrange(y, 'V B X ... -> B (V X) ...')[:, :T], outputs)


def blocks_of(x: Array, size: int, fill: int = 0) -> Array:
    """Cut tokens (axis 1) into blocks [V B X ...]; the last one is filled up."""
    widths = ((0, 0), (0, -x.shape[1] % size), *((0, 0),) * (x.ndim - 2))
    return rearrange(jnp.pad(x, widths, constant_values=fill), 'B (V X) ... -> V B X ...', X=size)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _over(
    function: Function, queries: PyTree, keys: PyTree, floats: list[Array], at: Array, rows: PyTree, others: PyTree
) -> PyTree:
    def visit(_: None, this: PyTree) -> tuple[None, PyTree]:
        queries, at, rows = this
        at = jnp.swapaxes(at, 1, 2)
        return None, function(queries, _gathered(keys, at), floats, at, rows, others)

    return jax.lax.scan(visit, None, (queries, at, rows))[1]


def _forward(function: Function, *given: Any) -> tuple[PyTree, PyTree]:
    return _over(function, *given), given


def _backward(function: Function, given: PyTree, doutputs: PyTree) -> tuple[PyTree, ...]:
    queries, keys, floats, at, rows, others = given

    def visit(sums: tuple[PyTree, PyTree], this: PyTree) -> tuple[tuple[PyTree, PyTree], PyTree]:
        (dkeys, dfloats), (queries, at, rows, doutputs) = sums, this
        at = jnp.swapaxes(at, 1, 2)

        def block(queries: PyTree, gathered: PyTree, floats: list[Array]) -> PyTree:
            return function(queries, gathered, floats, at, rows, others)

        with remat.recomputed():
            _, pull = jax.vjp(block, queries, _gathered(keys, at), floats)
        dqueries, dgathered, dfloats_part = pull(doutputs)
        put = functools.partial(_each_group, lambda x, at, part: x.at[at].add(part, mode='drop'))
        dkeys = jax.tree.map(lambda x, part: put(x, at, part), dkeys, dgathered)
        return (dkeys, jax.tree.map(jnp.add, dfloats, dfloats_part)), dqueries

    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, jnp.float32), (keys, floats))
    (dkeys, dfloats), dqueries = jax.lax.scan(visit, zeros, (queries, at, rows, doutputs))
    return *narrowed((dqueries, dkeys, dfloats), (queries, keys, floats)), None, None, None


_over.defvjp(_forward, _backward)


def _gathered(keys: PyTree, at: Int[Array, 'B J X C']) -> PyTree:
    return jax.tree.map(lambda x: take(x, at), keys)


def take(x: Array, at: Int[Array, 'B J *X']) -> Array:
    """Return entries of x [B J S ...] by their indices, for each row and group; zeros for an index of S."""
    return _each_group(lambda x, at: x.at[at].get(mode='fill', fill_value=0), x, at)


def _each_group(function: Callable[..., Array], *arrays: Array) -> Array:
    return jax.vmap(jax.vmap(function))(*arrays)
