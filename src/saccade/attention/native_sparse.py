# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Native sparse attention (NSA): compressed blocks, selected blocks and a sliding window, gated per query and head.

    y_i = sum_c sigmoid(x_i W_c) attend(q_i, K_c, V_c),    c = compressed, chosen, window, each with keys and values
    compressed key m = W2 gelu(W1 [k_j + e_(j - mD)]_j),   j = mD .. mD + L - 1;    I_b = sum_m p_im |m and b|

Yuan et al. 2025, "Native Sparse Attention: Hardware-Aligned and Natively Trainable Sparse Attention", section 3.3,
https://arxiv.org/abs/2502.11089. p are the weights of the compressed keys, |m and b| the tokens that they share with
block b; a group of heads selects by the sum of its I: the first block, its own, the one before and the best others.
Ours: compressed keys have no positions, the compression network has H hidden units, and as in MoBA blocks are counted
within a segment. With the kernel `attention.blockwise:Blockwise` only the chosen blocks and the window are scored; with
`attention.plain:Plain`, the reference, other pairs are masked. Cost: B N T H (chosen block + window) in time, and
B N T S / stride for the compressed keys; memory is linear in T.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from einops import rearrange, reduce
from jaxtyping import Array, Float, Int

from saccade.attention.base import PATTERN
from saccade.attention.cache import KVCache, heads_first
from saccade.attention.multi_head import MultiHead, visible
from saccade.axes import flat, parameter
from saccade.ops.blocks import ChosenBlocks, Runs, Tokens, best_blocks
from saccade.ops.gathered import ChosenTokens
from saccade.ops.mask import Causal, Window
from saccade.ops.project import project
from saccade.ops.reach import reach_of
from saccade.ops.scoring import Scoring
from saccade.ops.selection import by_blocks_of_queries
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Hidden,
    Keys,
    LayerContext,
    Mixed,
    PairPosition,
    Pairs,
    Part,
    Queries,
    Real,
    Rows,
    SparseKernel,
    State,
    UserError,
    Values,
)

__all__ = ['NativeSparse']

_ALWAYS = 3  # blocks that each query attends to: the first, its own, and the one before
_SIDE_BY_SIDE = 'B S (A K) H -> B S K (A H)'  # three branches


class NativeSparse(MultiHead):
    """Native sparse attention.

    Also called: NSA, native sparse attention.

    Attributes: as in MultiHead, and
        length: tokens of a compressed block.
        stride: tokens from the start of one compressed block to the start of the next.
        block: tokens of a block that can be chosen.
        chosen: maximum number of chosen blocks of a query, the three of every query included.
        window: tokens of the sliding window, the query's own included.
    """

    kernel: Part[SparseKernel]
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
        complete = kernel.complete(scoring, q.shape[-2], train)
        if state is None:
            tokens = Tokens.alone(k.shape[1]) if reach.segments is None else Tokens.of_rows(context.segments)
            return self._in_rows(kernel, complete, q, k, v, tokens), state
        after = state.append(k, v, scoring.features, context)
        return self._to_cache(kernel, complete, q, after, Tokens(context.positions, context.numbered)), after

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

    def _in_rows(
        self, kernel: SparseKernel, scoring: Scoring, q: Queries, k: CachedKeys, v: Values, tokens: Tokens
    ) -> Float[Array, 'B T N _']:
        """Attend in the three branches of whole rows; return the concatenated outputs."""
        q, turned, (first_k, *ks), (first_v, *vs) = _split(q, k, v)
        first, chosen = self._compressed(kernel, scoring, q, first_k, first_v, tokens, tokens)
        second = kernel.attend_to_blocks(turned, ks[0], vs[0], _branch(kernel, scoring, ''), chosen)
        near = _branch(kernel, scoring, 'window_').replace(mask=tokens.within(Causal() & Window(self.window - 1)))
        third = kernel.attend_tapped(turned, ks[1], vs[1], near)
        return jnp.concatenate([first, second, third], axis=-1)

    def _to_cache(
        self, kernel: SparseKernel, scoring: Scoring, q: Queries, cache: KVCache, queries: Tokens
    ) -> Float[Array, 'B T N _']:
        """Attend in the three branches to the slots of a cache; return the concatenated outputs."""
        slots = cache.whole()
        keys = Tokens(slots.positions, slots.segments)
        q, turned, (first_k, *ks), (first_v, *vs) = _split(q, heads_first(slots.keys()), heads_first(slots.values()))
        first, chosen = self._compressed(kernel, scoring, q, first_k, first_v, queries, keys)
        near = queries.newest(keys, jnp.minimum(queries.positions + 1, self.window), self.window)[:, None]
        others = (
            kernel.attend_to_tokens(
                turned, *kv, _branch(kernel, scoring, branch), ChosenTokens(at, queries.positions, keys.positions)
            )[0]
            for branch, *kv, at in zip(('', 'window_'), ks, vs, (chosen.places(), near), strict=True)
        )
        return jnp.concatenate([first, *others], axis=-1)

    def _compressed(
        self,
        kernel: SparseKernel,
        scoring: Scoring,
        q: Queries,
        k: Keys,
        v: Values,
        queries: Tokens,
        keys: Tokens,
    ) -> tuple[Mixed, ChosenBlocks]:
        """Attend to compressed keys; return the output and the blocks that each group of heads chooses."""
        kernel.require_served(q, k, v, scoring)
        runs, whole = Runs.of(keys, self.length, self.stride), Runs.of(keys, self.block, self.block)
        compressed = (self._compress(name, runs.gather(x)) for name, x in (('key', k), ('value', v)))
        k, v, groups = *compressed, k.shape[-2]
        shared, scoring = self._shared(runs, whole), _branch(kernel, scoring, 'compressed_')

        def attend(q: Queries, queries: Tokens, places: Int[Array, '1 T']) -> tuple[Mixed, Int[Array, 'B T K C']]:
            pairs = Pairs(places[0], jnp.arange(k.shape[1]), queries.causal(runs.ends), scoring.scale)
            mixed, weights = scoring.attend(q, k, v, pairs)
            weights = jax.lax.stop_gradient(weights)
            importance = shared(reduce(weights, 'B (K G) T M -> B K T M', 'sum', K=groups))
            own, number = (queries.positions // self.block)[..., None], whole.number()[:, None]
            always = ((number == 0) | (number == own - 1))[:, None]
            fit = jnp.where(always, jnp.inf, importance)
            return mixed, jnp.swapaxes(best_blocks(fit, whole, queries, self.chosen - 1), 1, 2)

        size = q.shape[1] if scoring.tap else kernel.block_sizes(q.shape[1], k.shape[1])[0]
        mixed, index = by_blocks_of_queries(attend, size, q, queries, jnp.arange(q.shape[1])[None])
        return mixed, ChosenBlocks(queries, keys, whole, jnp.swapaxes(index, 1, 2))

    def _shared(self, runs: Runs, whole: Runs) -> Callable[[Float[Array, 'B K T M']], Float[Array, 'B K T X']]:
        """Return the function from the weights of compressed keys to the importance of whole blocks."""
        cells, of_block = self.length // self.stride, self.block // self.stride
        back = jnp.arange(1 - cells, of_block)  # from the first run in a block to those that share tokens with it
        number = whole.number()[..., None] * of_block + back
        segment = whole.ends.segments[..., None]
        same = runs.ends.segments[:, None] == segment  # [B X M]
        at = jnp.argmax(same, axis=-1)[..., None] + number
        there = (number >= 0) & (number < jnp.sum(same, axis=-1)[..., None])
        tokens = self.stride * (jnp.minimum(back + cells, of_block) - jnp.maximum(back, 0))

        def importance(weights: Float[Array, 'B K T M']) -> Float[Array, 'B K T X']:
            each = jax.vmap(lambda row, at: row.at[..., at].get(mode='fill', fill_value=0))
            at_runs = jnp.broadcast_to(jnp.where(there, at, weights.shape[-1]), (weights.shape[0], *at.shape[1:]))
            return jnp.sum(each(weights, at_runs) * tokens, axis=-1)

        return importance

    def _compress(self, name: str, runs: Float[Array, 'B M X K H']) -> Float[Array, 'B M K H']:
        """Compress the keys or values of each run of tokens with a two-layer network."""
        H, made = runs.shape[-1], f'compressed_{name}'
        places = parameter(self, f'{made}_places', 'X H', nn.initializers.normal(0.02), (self.length, H))
        kernels = (
            parameter(self, f'{made}_{number}', axes, flat(self.kernel_init, len(shape) - 1), shape).astype(runs.dtype)
            for number, axes, shape in ((1, 'X H -> D', (self.length, H, H)), (2, 'D -> H', (H, H)))
        )
        first, second = kernels
        blocks = runs + places[:, None].astype(runs.dtype)
        hidden = jax.nn.gelu(jnp.einsum('BMXKH,XHD->BMKD', blocks, first))
        return jnp.einsum('BMKD,DH->BMKH', hidden, second)


def _split(
    q: Queries, k: CachedKeys, v: Values
) -> tuple[Float[Array, 'B T N _'], Float[Array, 'B T N _'], list[CachedKeys], list[Values]]:
    """Return unrotated and rotated queries, and the keys and values of each branch."""
    return *jnp.split(q, 2, axis=-1), jnp.split(k, 3, axis=-1), jnp.split(v, 3, axis=-1)


def _branch(kernel: SparseKernel, scoring: Scoring, branch: str) -> Scoring:
    """Return the scoring of a branch, whose taps have its name; `pattern` is that of the chosen blocks."""
    asked = kernel.asked(*(branch + name for name in PATTERN))
    return scoring.replace(tap=partial(_tap, kernel, branch) if asked else None)


def _tap(kernel: SparseKernel, branch: str, name: str, axes: str, value: Array, note: str = '') -> Array:
    return kernel.tap(branch + name, axes, value, note)
