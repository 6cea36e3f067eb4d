# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Native sparse attention (NSA): compressed blocks, selected blocks and a sliding window, gated per query and head.

    y_i = sum_c sigmoid(x_i W_c) attend(q_i, K_c, V_c),    c = compressed, chosen, window, each with keys and values
    compressed key m = W2 gelu(W1 [k_j + e_(j - mD)]_j),   j = mD .. mD + L - 1;    I_b = sum_m p_im |m and b|

Yuan et al. 2025, "Native Sparse Attention: Hardware-Aligned and Natively Trainable Sparse Attention", section 3.3,
https://arxiv.org/abs/2502.11089. p are the weights of the compressed keys, |m and b| the tokens that they share with
block b; a group of heads selects by the sum of its I: the first block, its own, the one before and the best others.
Ours: compressed keys have no positions, and the compression network has H hidden units. As in MoBA, blocks are counted
within a segment, and other pairs are masked, so time and memory are not reduced. Cost: B N T S each.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from einops import rearrange, reduce, repeat
from jaxtyping import Array, Bool, Float, Int

from saccade.attention.cache import heads_first
from saccade.attention.multi_head import MultiHead, visible
from saccade.axes import flat, parameter
from saccade.ops.blocks import Blocks, Tokens
from saccade.ops.project import project
from saccade.ops.reach import reach_of
from saccade.ops.scoring import Scoring
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Hidden,
    Keys,
    LayerContext,
    Mixed,
    PairKernel,
    PairPosition,
    Pairs,
    Part,
    Queries,
    Real,
    Rows,
    State,
    UserError,
    Values,
)

__all__ = ['NativeSparse']

_ALWAYS = 3  # blocks that each query attends to: the first, its own, and the one before
_SIDE_BY_SIDE = 'B S (A K) H -> B S K (A H)'  # three branches


# Queries, keys, values and allowed pairs -> output and weights.
_Attend = Callable[[str, Queries, Keys, Values, Bool[Array, '#B #N T S']], tuple[Mixed, Float[Array, 'B N T S']]]


class NativeSparse(MultiHead):
    """Native sparse attention.

    Also called: NSA, native sparse attention.

    Attributes: as in MultiHead; length and stride of compressed blocks, in tokens; block, tokens of one that is
    chosen; chosen, how many of these a query attends to at most, the three of every query included; window, tokens of
    the sliding window, the query's own included.
    """

    kernel: Part[PairKernel]
    length: Count
    stride: Count
    block: Count
    chosen: Count
    window: Count

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False,
        cross=False,
        terms=False,
        scores=True,
        equivariant=False,
        time='B N T S',
        memory='B N T S',
        state='S K H',
    )
    rows: ClassVar[Rows] = Rows(dense=False, continuous=False)
    example: ClassVar[dict[str, Any]] = {'length': 2, 'stride': 1, 'block': 2, 'chosen': 4, 'window': 3}

    def projections(self, D: int) -> dict[str, tuple[str, tuple[int, int]]]:
        """Return the output axes of each projection and their sizes: keys and values of three branches."""
        N, K, H = self.sizes(D)
        return {'query': ('N H', (N, H)), 'key': ('K H', (3 * K, H)), 'value': ('K H', (3 * K, H))}

    def project_heads(self, inputs: Mapping[str, Array], D: int) -> dict[str, Array]:
        """Project to heads; the values of the three branches are concatenated."""
        made = super().project_heads(inputs, D)
        return made | ({'value': rearrange(made['value'], _SIDE_BY_SIDE, A=3)} if 'value' in made else {})

    def rotate(
        self,
        position: PairPosition,
        q: Queries,
        k: Float[Array, 'B S _ H'],
        q_positions: Int[Array, 'B T'],
        k_positions: Int[Array, 'B S'],
    ) -> tuple[Float[Array, 'B T N _'], Float[Array, 'B S K _']]:
        """Return unrotated queries, for compressed keys, concatenated with rotated queries; and keys of three branches.

        The keys of the other two branches are rotated.
        """
        K = k.shape[-2] // 3
        turned, rotated = super().rotate(position, q, k[..., K:, :], q_positions, k_positions)
        keys = rearrange(jnp.concatenate([k[..., :K, :], rotated], axis=-2), _SIDE_BY_SIDE, A=3)
        return jnp.concatenate([q, turned], axis=-1), keys

    def kv_shapes(self, D: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return heads and width of the keys, and of the values, with the three branches concatenated."""
        _, K, H = self.sizes(D)
        return (K, 3 * H), (K, 3 * H)

    def attend(
        self,
        q: Queries,
        k: CachedKeys,
        v: Values,
        scoring: Scoring,
        x: Hidden,
        context: LayerContext,
        train: bool,
        state: State | None,
    ) -> tuple[Mixed, State]:
        """Attend in the three branches; return their concatenated outputs, and the new cache.

        Raises:
            UserError: the context has a source or a score term, or the mask is not supported.
        """
        context.require_no_source(Part(type(self)).name)
        kernel = self.kernel(name='kernel')
        reach = reach_of(self, visible(scoring, context) if state is None else scoring, q, k)
        attend = _attend_by(kernel, kernel.complete(scoring, q.shape[-2], train))
        if state is None:
            packed = reach.segments is not None
            tokens = Tokens.of_rows(context.segments if packed else jnp.ones((1, k.shape[1]), jnp.int32))
            return self._branches(q, k, v, attend, tokens, tokens, packed), state
        after = state.append(k, v, scoring.features, context)
        # A block has consecutive tokens; the cache of a row may have empty slots between them.
        cache = after.whole()
        order = jnp.argsort(cache.segments == 0, axis=-1, stable=True)
        k, v, positions, segments = (
            jax.vmap(lambda slots, at: slots[at])(slots, order)
            for slots in (heads_first(cache.k), heads_first(cache.v), cache.positions, cache.segments)
        )
        queries = Tokens(context.positions, context.numbered)
        return self._branches(q, k, v, attend, queries, Tokens(positions, segments), True), after

    def project_output(self, x: Hidden, mixed: Mixed, real: Real | None, train: bool) -> Hidden:
        """Sum the gated branches; gate, merge and project the heads as in MultiHead."""
        N = mixed.shape[-2]
        gates = parameter(self, 'branch_gate', 'D -> N X', flat(self.kernel_init, 1), (x.shape[-1], N, 3))
        branches = rearrange(mixed, 'B T N (A H) -> B T N A H', A=3)
        mixed = jnp.einsum('BTNA,BTNAH->BTNH', jax.nn.sigmoid(project(x, gates)), branches)
        return super().project_output(x, mixed, real, train)

    def sizes(self, D: int) -> tuple[int, int, int]:
        """Return N, K and H at width D.

        Raises:
            UserError: the sizes are inconsistent; and as for MultiHead.
        """
        name = Part(type(self)).name
        if self.length % self.stride or self.block % self.stride:
            raise UserError(f'{name}: stride {self.stride} must divide length {self.length} and block {self.block}')
        if self.chosen < _ALWAYS:
            raise UserError(
                f'{name}: chosen must be at least {_ALWAYS}, not {self.chosen}: the first block, the own and the one '
                'before are always selected'
            )
        return super().sizes(D)

    def _branches(
        self, q: Queries, k: CachedKeys, v: Values, attend: _Attend, queries: Tokens, keys: Tokens, packed: bool
    ) -> Float[Array, 'B T N _']:
        """Attend in each branch; return the concatenated outputs. `pattern` is that of the selected blocks."""
        q, turned = jnp.split(q, 2, axis=-1)
        (compressible, *ks), (compressed, *vs) = jnp.split(k, 3, axis=-1), jnp.split(v, 3, axis=-1)
        at, ends = self._windows(keys)
        compressible, compressed = self._compressed('key', compressible, at), self._compressed('value', compressed, at)
        first, of_compressed = attend('compressed_', q, compressible, compressed, queries.causal(ends))

        chosen = self._chosen(jax.lax.stop_gradient(of_compressed), at, queries, keys, packed, k.shape[-2])
        near = (queries.positions[..., None] - keys.positions[:, None] < self.window)[:, None]
        causal = queries.causal(keys)
        second, third = (
            attend(branch, turned, *kv, causal & allowed)[0]
            for branch, *kv, allowed in zip(('', 'window_'), ks, vs, (chosen, near), strict=True)
        )
        return jnp.concatenate([first, second, third], axis=-1)

    def _windows(self, keys: Tokens) -> tuple[Int[Array, '#B M X'], Tokens]:
        """Return the key indices of each compressed block, and its last token; segment 0 for missing blocks."""
        S, past = keys.segments.shape[-1], keys.positions + 1 - self.length
        there = (keys.segments != 0) & (past >= 0) & (past % self.stride == 0)
        last = jnp.argsort(~there, axis=-1, stable=True)[:, : max((S - self.length) // self.stride + 1, 1)]
        positions, segments = (
            jnp.take_along_axis(x, last, axis=-1) for x in (keys.positions, jnp.where(there, keys.segments, 0))
        )
        # No query has segment -1, so padding attends to no compressed block.
        ends = Tokens(positions, jnp.where(segments == 0, -1, segments))
        return jnp.maximum(last[..., None] + jnp.arange(1 - self.length, 1), 0), ends

    def _compressed(self, name: str, x: Keys, at: Int[Array, '#B M X']) -> Float[Array, 'B M K H']:
        """Compress the keys or values of each block with a two-layer network."""
        H, made = x.shape[-1], f'compressed_{name}'
        places = parameter(self, f'{made}_places', 'X H', nn.initializers.normal(0.02), (self.length, H))
        kernels = (
            parameter(self, f'{made}_{number}', axes, flat(self.kernel_init, len(shape) - 1), shape).astype(x.dtype)
            for number, axes, shape in ((1, 'X H -> D', (self.length, H, H)), (2, 'D -> H', (H, H)))
        )
        at = jnp.broadcast_to(at, (x.shape[0], *at.shape[1:]))
        blocks = jax.vmap(lambda tokens, block: tokens[block])(x, at) + places[:, None].astype(x.dtype)
        first, second = kernels
        hidden = jax.nn.gelu(jnp.einsum('BMXKH,XHD->BMKD', blocks, first))
        return jnp.einsum('BMKD,DH->BMKH', hidden, second)

    def _chosen(
        self,
        weights: Float[Array, 'B N T M'],
        at: Int[Array, '#B M X'],
        queries: Tokens,
        keys: Tokens,
        packed: bool,
        groups: int,
    ) -> Bool[Array, 'B N T S']:
        """Return the mask of keys in the blocks selected by each query's group of heads."""
        blocks = Blocks.of(keys, self.block, packed)
        shared = jnp.sum(jax.vmap(lambda tokens, block: tokens[block])(blocks.members, at), axis=2)
        of_group = reduce(weights, 'B (K G) T M -> B K T M', 'sum', K=groups)
        fit = jnp.einsum('BKTM,BMJ->BKTJ', of_group, jnp.broadcast_to(shared, (weights.shape[0], *shared.shape[1:])))
        before = blocks.before(queries)[:, None]
        always = (before == 0) | (before == 1) | (blocks.number == 0)[:, None, None]
        fit = jnp.where(before < 0, -jnp.inf, jnp.where(always, jnp.inf, fit))
        chosen = blocks.keys_of_best(fit, self.chosen)
        return repeat(chosen, 'B K T S -> B (K G) T S', G=weights.shape[1] // groups)


def _attend_by(kernel: PairKernel, scoring: Scoring) -> _Attend:
    def attend(
        branch: str, q: Queries, k: Keys, v: Values, allowed: Bool[Array, '#B #N T S']
    ) -> tuple[Mixed, Float[Array, 'B N T S']]:
        pairs = Pairs(jnp.arange(q.shape[1]), jnp.arange(k.shape[1]), allowed, scoring.scale)
        tapped = scoring.replace(tap=lambda name, axes, value: kernel.tap(branch + name, axes, value))
        return kernel.attend_to_pairs(q, k, v, tapped, pairs)

    return attend
