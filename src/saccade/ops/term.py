# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Score terms as values: biases, softcaps and relative positions, which change scores before the softmax.

A term is a pytree whose float leaves may be trained. It gets the scores of one block together with their queries,
keys and pairs of indices, and is differentiated by `jax.vjp` block by block, so the memory-efficient
path supports every term and stores no T x S array. Key blocks are visited from the last to the first; a term that
depends on keys to the right of a block gets them through `carry`.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int, PyTree

from saccade.ops import rotary
from saccade.ops.scoring import grouped_products
from saccade.types import Capabilities, Keys, Pairs, Part, Positive, Queries, Scores, ScoreTerm, UserError

__all__ = ['LinearBias', 'Softcap']


class TermBase:
    """Base of score terms without a carry; terms with one override `init_carry` and `__call__`.

    Attributes:
        by_distance: depends on the distance of query and key, which is defined only within one sequence.
    """

    by_distance: ClassVar[bool] = False

    def init_carry(self, q: Queries) -> PyTree:
        """Return an empty carry."""
        return ()

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]:
        return self.change(scores, pairs), carry

    def change(self, scores: Scores, pairs: Pairs) -> Scores:
        """Return the changed scores [B N T S], in float32. Abstract."""
        raise NotImplementedError


def require_no_distance(terms: Sequence[ScoreTerm]) -> None:
    """Check that no score term of cross-attention depends on distance.

    Raises:
        UserError: a term depends on distance, or does not declare `by_distance`.
    """
    for term in terms:
        if getattr(term, 'by_distance', True):
            raise UserError(
                f'cross-attention reads another sequence, to whose tokens {Part(type(term)).name} has no distance; a '
                f'term that needs none declares by_distance = False'
            )


def reads_content(term: ScoreTerm) -> bool:
    """Return True if a term may depend on queries and keys, and not only on their scores and positions."""
    return getattr(term, 'reads_content', type(term).__call__ is not TermBase.__call__)


@struct.dataclass
class Softcap(TermBase):
    """Softcap of scores within (-cap, cap): cap tanh(s / cap) (Gemma 2, Riviere et al. 2024, section 2).

    Attributes:
        cap: bound of the scores, in nats.
    """

    cap: Positive = struct.field(pytree_node=False)

    example: ClassVar[dict[str, Any]] = {'cap': 5.0}

    def change(self, scores: Scores, pairs: Pairs) -> Scores:
        """Return cap tanh(scores / cap)."""
        return self.cap * jnp.tanh(scores / self.cap)


@struct.dataclass
class DistanceTable(TermBase):
    """Relative position bias: adds a value looked up by the bucket of the distance key - query.

    Attributes:
        table: one value per bucket and head.
        bucket: function of an integer distance array to integer buckets in [0, R).
    """

    table: Float[Array, 'R N']
    bucket: Callable[[Array], Array] = struct.field(pytree_node=False)

    by_distance: ClassVar[bool] = True

    def change(self, scores: Scores, pairs: Pairs) -> Scores:
        """Add the bias of each distance to the scores, looked up by its bucket."""
        # Cast before the lookup, whose gradient sums over all pairs of a bucket.
        table = self.table.astype(scores.dtype)
        return scores + jnp.moveaxis(table[self.bucket(pairs.distance)], -1, -3)


@struct.dataclass
class LinearBias(TermBase):
    """Linear bias: subtracts a slope times the distance in tokens (Press et al. 2022, section 3).

    Attributes:
        slopes: one per head, in nats per token.
    """

    slopes: tuple[float, ...] = struct.field(pytree_node=False)

    by_distance: ClassVar[bool] = True
    capabilities: ClassVar[Capabilities] = Capabilities(cross=False, equivariant=False)
    example: ClassVar[dict[str, Any]] = {'slopes': [0.5, 0.25, 0.125, 0.0625]}

    def change(self, scores: Scores, pairs: Pairs) -> Scores:
        """Subtract each head's slope times |distance| from the scores.

        Raises:
            UserError: the number of slopes differs from the number of heads.
        """
        if len(self.slopes) != scores.shape[-3]:
            raise UserError(
                f'ops.term:LinearBias has {len(self.slopes)} slopes for {scores.shape[-3]} heads; give one a head'
            )
        steepness = jnp.array(self.slopes, scores.dtype)[:, None, None]
        return scores - steepness * jnp.abs(pairs.distance)[..., None, :, :]


@struct.dataclass
class RelativeKeys(TermBase):
    """Relative keys: adds the query's product with the vector of the clipped distance (Shaw et al. 2018, equation 5).

    Queries are multiplied by each row of the table once, without a vector per pair.

    Attributes:
        table: a vector for each distance from -reach to reach.
    """

    table: Float[Array, 'R H']

    by_distance: ClassVar[bool] = True

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]:
        reach = self.table.shape[0] // 2
        row = jnp.clip(pairs.distance, -reach, reach) + reach
        return scores + looked_up(table_products(q, self.table, pairs.scale), row), carry


@struct.dataclass
class RelativeWaves(TermBase):
    """Transformer-XL: adds u . k, and (q + v) . projected sinusoids of the distance (Dai et al. 2019, section 3.3).

    The waves of i - j are sines and cosines, so their product with the coefficients of query i equals the product of
    the coefficients rotated by i with the waves of j: there is no vector per pair or distance, and indices are
        arbitrary.

    Attributes:
        content_bias: u, whose product with the keys is added.
        position_bias: v, which is added to the queries before their product with the waves.
        projection: projection of the waves to each head; first the rows of all sines, then of the cosines.
        base: longest wavelength over 2 pi, in tokens.
    """

    content_bias: Float[Array, 'N H']
    position_bias: Float[Array, 'N H']
    projection: Float[Array, 'P N H']
    base: float = struct.field(pytree_node=False)

    by_distance: ClassVar[bool] = True

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]:
        check_head_width(q, self.content_bias)
        content = grouped_products(jnp.broadcast_to(self.content_bias, (k.shape[0], 1, *self.content_bias.shape)), k)
        return scores + pairs.scale * (content + self._positions(q, pairs)), carry

    def _positions(self, q: Queries, pairs: Pairs) -> Scores:
        P = self.projection.shape[0]
        wide = (leaf.astype(jnp.float32) for leaf in (q + self.position_bias, self.projection))
        sines, cosines = jnp.split(jnp.einsum('BTNH,PNH->BTNP', *wide), 2, axis=-1)
        q_angle, k_angle = (
            rotary.angles(jnp.broadcast_to(index, (q.shape[0], index.shape[-1])), P, self.base)
            for index in (pairs.q_index, pairs.k_index)
        )
        turned = rotary.rotate(jnp.concatenate([cosines, -sines], axis=-1), q_angle)
        waves = jnp.concatenate([jnp.cos(k_angle), jnp.sin(k_angle)], axis=-1)
        return jnp.einsum('BTNP,BSP->BNTS', turned, waves)


@struct.dataclass
class CountedKeys:
    """CoPE: adds the query's product with a vector for the gated count of keys between (Golovneva et al. 2024).

    A key counts by its gate sigmoid(s); the fractional count, clipped to the table, interpolates neighbouring vectors.
    Counts of later blocks reach a block through its carry.

    Attributes:
        table: a vector for each whole count from 0.
    """

    table: Float[Array, 'P H']

    by_distance: ClassVar[bool] = True

    def init_carry(self, q: Queries) -> PyTree:
        """Return counts of zero, [B N T]."""
        B, T, N, _ = q.shape
        return jnp.zeros((B, N, T))

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]:
        gates = jnp.where(pairs.allowed, jax.nn.sigmoid(scores), 0.0)
        count = jax.lax.cumsum(gates, axis=gates.ndim - 1, reverse=True) + carry[..., None]
        place = jnp.minimum(count, self.table.shape[0] - 1)
        below, above = jnp.floor(place), jnp.ceil(place)
        products = table_products(q, self.table, pairs.scale)
        lower, upper = (looked_up(products, whole.astype(jnp.int32)) for whole in (below, above))
        return scores + lower + (place - below) * (upper - lower), count[..., 0]


@struct.dataclass
class GivenProducts(TermBase):
    """Adds products that a mixer computed itself, for a `Scoring` with scale 0.

    Attributes:
        products: unscaled product of each pair.
    """

    products: Float[Array, 'B N T S']

    def change(self, scores: Scores, pairs: Pairs) -> Scores:
        """Return scores + scale products."""
        return scores + pairs.scale * self.products


def table_products(q: Queries, table: Float[Array, 'R width'], scale: float) -> Float[Array, 'B N T R']:
    """Return scaled products of queries with every row of a table shared by all heads, in float32."""
    check_head_width(q, table)
    return scale * jnp.einsum('BTNH,RH->BNTR', q.astype(jnp.float32), table.astype(jnp.float32))


def looked_up(products: Float[Array, 'B N T R'], row: Int[Array, '... T S']) -> Scores:
    """Return, for each pair, the query's product with the pair's row of the table."""
    row = row if row.ndim == products.ndim else jnp.broadcast_to(row, (products.shape[0], *row.shape[-2:]))[:, None]
    return jnp.take_along_axis(products, row, axis=-1)


def check_head_width(q: Queries, table: Float[Array, '*R width']) -> None:
    """Check that trained vectors have the head width of the queries.

    Raises:
        UserError: the widths differ.
    """
    if q.shape[-1] != table.shape[-1]:
        raise UserError(f'the position scheme has a head_width of {table.shape[-1]}, but queries have {q.shape[-1]}')
