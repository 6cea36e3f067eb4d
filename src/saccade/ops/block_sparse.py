# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Block-sparse attention: each query attends to its own block of keys and to the blocks that it chose.

    m, l, y  <-  running maximum, normaliser and output, over the own block and then over the tiles of each chosen block

The queries that chose a block are brought together, as in MoBA's own code (Lu et al. 2025, section 2.3,
https://arxiv.org/abs/2502.13189), so a block is read once for a tile of them, and scores are matrix products. Ours
sorts the choices by block and cuts them into tiles of R queries, whose number has a static bound: C choices of T
queries among M blocks fill at most (T C + M (R - 1)) / R tiles. Outputs are accumulated online and gradients are
recomputed tile by tile, as in `ops.blockwise`, which attends to the own blocks. FLOPs are proportional to T times the
chosen keys, and memory is linear in T. It has no forward-mode derivative, and no score terms.
"""

import functools

import jax
import jax.numpy as jnp
from einops import rearrange, repeat
from flax import struct
from jaxtyping import Array, Float, Int, PyTree

from saccade.ops import blockwise, remat
from saccade.ops.blocks import ChosenBlocks
from saccade.ops.blockwise import BlockPlan, Sums, Visits
from saccade.ops.gathered import kept, take
from saccade.ops.mask import Causal, Chunked
from saccade.ops.scoring import Scoring, grouped_products, weighted_values
from saccade.types import Keys, Mixed, Queries, Values

_BY_GROUP = 'B T (J G) H -> B J T G H'


@struct.dataclass
class Tiles:
    """Tiles of queries that chose the same block of keys.

    Attributes:
        rows: index of each query of a tile; the number of queries, or more, for none.
        block: index of the block.
        keys: index of each key of the block, for dropout.
    """

    rows: Int[Array, 'V B J R']
    block: Int[Array, 'V B J']
    keys: Int[Array, 'V B J X']


def attend_to_blocks(
    q: Queries, k: Keys, v: Values, scoring: Scoring, chosen: ChosenBlocks, q_block: int, k_block: int
) -> Mixed:
    """Return the output of attention to the chosen blocks of whole rows, in the dtype of v.

    Args:
        q_block, k_block: most tokens of a tile of queries, and of a tile of keys of the own block.
    """
    T, S, J = q.shape[1], k.shape[1], chosen.index.shape[1]
    scoring = scoring.replace(mask=chosen.queries.within(Causal() & Chunked(chosen.size)))
    plan = BlockPlan.make(scoring, tuple(min(chosen.size, block, T) for block in (q_block, k_block)), q)
    visits = blockwise.whole_row(plan, scoring.mask, (T, S))
    whole = tuple(rearrange(chosen.whole.gather(x), 'B M X K H -> B K M X H') for x in (k, v))
    q, k, v = blockwise.pad(q, plan.blocks[0]), blockwise.pad(k, plan.blocks[1]), blockwise.pad(v, plan.blocks[1])
    tiles = _tiles(chosen, plan.blocks[0], q.shape[1])
    return _attend(plan, J, visits, tiles, q, k, v, whole, *blockwise.leaves_of(scoring))[:, :T].astype(whole[1].dtype)


def _tiles(chosen: ChosenBlocks, size: int, none: int) -> Tiles:
    """Return the tiles of all choices. Args: size, queries of a tile; none, the index in place of a missing query."""
    (B, _, T, C), M = chosen.index.shape, chosen.whole.at.shape[1]
    count = (T * C + min(T * C, M) * (size - 1)) // size

    def of_group(index: Int[Array, 'T C']) -> tuple[Int[Array, 'V R'], Int[Array, ' V']]:
        flat = rearrange(index, 'T C -> (T C)')
        order = jnp.append(jnp.argsort(flat, stable=True), T * C)
        choices = jnp.bincount(flat, length=M + 1)[:M]
        of_block = -(-choices // size)
        ends = jnp.cumsum(of_block)
        block = jnp.minimum(jnp.searchsorted(ends, jnp.arange(count), side='right'), M - 1)
        within = ((jnp.arange(count) - (ends - of_block)[block]) * size)[:, None] + jnp.arange(size)
        there = within < choices[block][:, None]
        places = jnp.where(there, (jnp.cumsum(choices) - choices)[block][:, None] + within, T * C)
        return jnp.where(there, order[places] // max(C, 1), none), block

    rows, block = jax.vmap(jax.vmap(of_group))(chosen.index)
    at = jnp.broadcast_to(chosen.whole.at, (B, *chosen.whole.at.shape[1:]))
    keys = jax.vmap(lambda at, block: at[block])(at, block)
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 2, 0), Tiles(rows, block, keys))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _attend(
    plan: BlockPlan,
    groups: int,
    visits: Visits,
    tiles: Tiles,
    q: Queries,
    k: Keys,
    v: Values,
    whole: tuple[Array, Array],
    floats: list[Array],
    others: list[Array],
) -> Mixed:
    return _forward(plan, groups, visits, tiles, q, k, v, whole, floats, others)[0]


def _forward(
    plan: BlockPlan,
    groups: int,
    visits: Visits,
    tiles: Tiles,
    q: Queries,
    k: Keys,
    v: Values,
    whole: tuple[Array, Array],
    floats: list[Array],
    others: list[Array],
) -> tuple[Mixed, PyTree]:
    scoring = plan.scoring(floats, others)
    own = blockwise.accumulate(plan, scoring, visits, q, k, v, blockwise.begin(plan, scoring, q, v))
    shape, queries = (q.shape[0], q.shape[2]), rearrange(q, _BY_GROUP, J=groups)

    def visit(state: tuple[Array, PyTree], this: Tiles) -> tuple[tuple[Array, PyTree], None]:
        out, statistic = state
        k_part, v_part = (_block(x, this) for x in whole)
        scores = _scores(scoring, take(queries, this.rows), k_part, this, q.shape[1])
        here, weights, shrink = scoring.softmax.accumulate(_of_heads(statistic, this.rows), scores)
        mixed = weighted_values(_dropped(scoring, weights, this, shape), v_part)
        shrink = rearrange(jnp.broadcast_to(shrink, weights.shape[:3]), 'B (J G) R -> B J R G 1', J=groups)
        out = _put(
            out, this.rows, take(out, this.rows) * shrink + rearrange(mixed, 'B R (J G) H -> B J R G H', J=groups)
        )
        return (out, jax.tree.map(lambda x, part: _put(x, this.rows, _by_group(part, groups)), statistic, here)), None

    start = rearrange(own.out, _BY_GROUP, J=groups), jax.tree.map(lambda x: _by_group(x, groups), own.statistic)
    out, statistic = jax.lax.scan(visit, start, tiles)[0]
    out = rearrange(out, 'B J T G H -> B T (J G) H')
    statistic = jax.tree.map(lambda x: rearrange(x, 'B J T G -> B (J G) T'), statistic)
    out, known = blockwise.finalise(scoring, Sums(out, statistic, own.carry))
    return out, (visits, tiles, q, k, v, whole, floats, others, out, known)


def _backward(plan: BlockPlan, groups: int, saved: PyTree, dout: Mixed) -> tuple[PyTree, ...]:
    visits, tiles, q, k, v, whole, floats, others, out, known = saved
    inner = blockwise.inner_products(dout, out)
    start = blockwise.no_gradients(plan, visits, q, k, v, floats, others)
    own = blockwise.pull_back(plan, visits, q, k, v, floats, others, (dout, known, inner), start)
    scoring, shape = plan.scoring(floats, others), (q.shape[0], q.shape[2])
    queries, douts = (rearrange(x, _BY_GROUP, J=groups) for x in (q, dout))
    known, inner = jax.tree.map(lambda x: _by_group(x, groups), (known, inner[..., 0]))

    def visit(state: tuple[PyTree, ...], this: Tiles) -> tuple[tuple[PyTree, ...], None]:
        dq, dk, dv, dfloats = state
        k_part, v_part = (_block(x, this) for x in whole)
        dout_part = rearrange(take(douts, this.rows), 'B J R G H -> B R (J G) H')

        def block(q_part: Array, k_part: Keys, floats: list[Array]) -> tuple[Array, PyTree]:
            scoring = plan.scoring(floats, others)
            return _scores(scoring, q_part, k_part, this, q.shape[1]), scoring.softmax

        with remat.recomputed():
            (scores, softmax), pull = jax.vjp(block, take(queries, this.rows), k_part, floats)
        dweights = _dropped(scoring, grouped_products(dout_part, v_part), this, shape)
        rows = _of_heads(known, this.rows), _of_heads(inner, this.rows)[..., None]
        weights, dscores, dsoftmax = softmax.backward(scores, rows[0], dweights, rows[1])
        dq_part, dk_part, dfloats_part = pull((dscores, dsoftmax))
        dv_part = blockwise.value_gradient(_dropped(scoring, weights, this, shape), dout_part, groups)
        dq = _put(dq, this.rows, take(dq, this.rows) + dq_part)
        dk, dv = _add_block(dk, this, dk_part), _add_block(dv, this, dv_part)
        return (dq, dk, dv, jax.tree.map(jnp.add, dfloats, dfloats_part)), None

    start = rearrange(own.q, _BY_GROUP, J=groups), *(jnp.zeros(x.shape, jnp.float32) for x in whole), own.floats
    dq, dk, dv, dfloats = jax.lax.scan(visit, start, tiles)[0]
    dq = rearrange(dq, 'B J T G H -> B T (J G) H')
    return None, None, *blockwise.narrowed((dq, own.k, own.v, (dk, dv), dfloats), (q, k, v, whole, floats)), None


_attend.defvjp(_forward, _backward)


def _scores(
    scoring: Scoring, q: Float[Array, 'B J R G H'], k: Float[Array, 'B X J H'], tile: Tiles, none: int
) -> Float[Array, 'B N R X']:
    """Return the scores of a tile; -inf for missing queries."""
    scores = scoring.scale * grouped_products(rearrange(q, 'B J R G H -> B R (J G) H'), k)
    there = repeat(tile.rows < none, 'B J R -> B (J G) R 1', G=q.shape[3])
    return jnp.where(there, scores, -jnp.inf)


def _dropped(scoring: Scoring, weights: Array, tile: Tiles, shape: tuple[int, int]) -> Array:
    if scoring.dropout is None:
        return weights
    return weights * kept(scoring, shape, jnp.arange(shape[0]), tile.rows, tile.keys)


def _block(whole: Float[Array, 'B K M X H'], tile: Tiles) -> Float[Array, 'B X J H']:
    """Return the keys or values of a tile's block, for each group of heads that chooses."""
    return jnp.moveaxis(whole[_block_index(whole, tile)], 1, 2)


def _add_block(whole: Float[Array, 'B K M X H'], tile: Tiles, part: Float[Array, 'B X J H']) -> Array:
    return whole.at[_block_index(whole, tile)].add(jnp.moveaxis(part, 2, 1))


def _block_index(whole: Float[Array, 'B K M X H'], tile: Tiles) -> tuple[Array, Array, Array]:
    B, J = tile.block.shape
    heads = jnp.arange(J) * whole.shape[1] // J
    return jnp.arange(B)[:, None], heads[None], tile.block


def _of_heads(statistic: PyTree, rows: Int[Array, 'B J R']) -> PyTree:
    """Return statistics [B J T G] of a tile's queries as [B N R]."""
    return jax.tree.map(lambda x: rearrange(take(x, rows), 'B J R G -> B (J G) R'), statistic)


def _by_group(x: Float[Array, 'B N T'], groups: int) -> Float[Array, 'B J T G']:
    return rearrange(x, 'B (J G) T -> B J T G', J=groups)


def _put(x: Float[Array, 'B J T ...'], rows: Int[Array, 'B J R'], part: Array) -> Array:
    return jax.vmap(jax.vmap(lambda x, at, part: x.at[at].set(part, mode='drop')))(x, rows, part)
