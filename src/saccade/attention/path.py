# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""PaTH attention: each token between a key and a query applies a data-dependent Householder-like matrix to the key.

    s[n, i, j] = scale q_ni . H_i H_(i-1) ... H_(j+1) k_nj,    H_t = I - b_t w_t w_t^T for each key head
    w_t = unit(x_t W),    b_t = 2 sigmoid(x_t W' + c)

Yang et al. 2025, "PaTH Attention: Position Encoding via Accumulating Householder Transformations", section 2,
https://arxiv.org/abs/2505.16381. It replaces positions: as published, `position` is none, `rank` 32 (one
full matrix if query heads share keys), and `convolution` of 3 tokens, depthwise without bias; in the authors' code a
SiLU follows it. b = 0 is multi-head attention without positions; with `score.forget_gate:ForgetGate` as a term it is
PaTH-FoX. A step applies its H to all cached keys, which are stored in float32. Cost: all scores at once, and
B T S K (3 H + C) for chunks of C. It supports only causal masks, no terms that read queries and keys, and no
cross-attention.
"""

from typing import ClassVar, NoReturn

import flax.linen as nn
import jax
import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Float

from saccade.attention.cache import Cache, heads_first
from saccade.attention.multi_head import MultiHead, attended_pairs
from saccade.axes import flat, parameter
from saccade.ops.blocks import Tokens
from saccade.ops.causality import require_causal_mask
from saccade.ops.delta import unit
from saccade.ops.householder import transform, transform_all
from saccade.ops.project import project
from saccade.ops.scoring import Scoring
from saccade.ops.term import GivenProducts, reads_content
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Hidden,
    Keys,
    LayerContext,
    Mixed,
    Mixer,
    Pages,
    PairKernel,
    Part,
    Queries,
    State,
    UserError,
    Values,
)

__all__ = ['PaTH']


@struct.dataclass
class PathCache:
    """KV cache whose keys are updated by each step. Attributes: kv; convolution, its state, None without one."""

    kv: Cache
    convolution: State
    rewrites: ClassVar[bool] = True


class PaTH(MultiHead):
    """PaTH attention.

    Attributes: the attributes of MultiHead; rank of the projection to w, None for one full matrix; convolution of w
    over tokens before normalisation, None for no convolution; chunk, tokens processed at once, which does not change
    the output.
    """

    kernel: Part[PairKernel]
    rank: Count | None = None
    convolution: Part[Mixer] | None = None
    chunk: Count = 64

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False,
        cross=False,
        content=False,
        scores=True,
        sums=True,
        equivariant=False,
        time='B T S N H',
        memory='B N T S',
        state='S K H',
    )
    why_not: ClassVar[dict[str, str]] = {'KVSharingMixer': 'each layer changes cached keys by matrices of its own'}
    example: ClassVar[dict] = {'rank': 4, 'chunk': 4}

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
        """Attend to keys transformed by the tokens in between; return the output and the new cache."""
        self._check(context, scoring)
        kernel = self.kernel(name='kernel')
        scoring, k, v, pairs, kv = attended_pairs(
            kernel, q, k, v, scoring, context, train, None if state is None else state.kv
        )
        w, b, convolution = self._matrices(x, context, train, state)
        tokens = Tokens(context.positions, context.numbered)
        if state is None:
            products = transform_all(q, k, w, b, tokens, self.chunk)
        else:
            products, rewritten = transform(q, k, w, b, tokens, Tokens(kv.positions, kv.segments))
            state = PathCache(kv.replace(k=heads_first(rewritten)), convolution)
        mixed, _ = kernel.attend_to_pairs(q, k, v, _by(products, scoring), pairs)
        return mixed, state

    def init_state(self, x: Hidden, capacity: int) -> PathCache:
        """Return an empty KV cache with `capacity` slots per row for any mask, and the convolution's state."""
        k, v, features = self.empty_kv(x)
        kv = Cache.empty(k.astype(jnp.float32), v, features, capacity)
        if self.convolution is None:
            return PathCache(kv, None)
        _, K, H = self.sizes(x.shape[-1])
        convolved = jnp.zeros((x.shape[0], 1, K * H), x.dtype)
        return PathCache(kv, self.convolution(parent=None).init_state(convolved, capacity))

    def init_pages(self, x: Hidden, pages: Pages) -> NoReturn:
        """Refuse to decode with pages.

        Raises:
            UserError: always, since a page that rows share cannot be changed for one of them.
        """
        raise UserError(
            f'{Part(type(self)).name} changes the keys of all earlier tokens at each step, so rows cannot share pages '
            'of them: decode without --paged'
        )

    def _matrices(
        self, x: Hidden, context: LayerContext, train: bool, state: PathCache | None
    ) -> tuple[Keys, Float[Array, 'B T K'], State]:
        """Return w and b of each token and key head in float32, and the convolution's new state."""
        _, K, H = self.sizes(x.shape[-1])
        init, after = flat(self.kernel_init, 1), None
        if self.rank is None:
            w = project(x, parameter(self, 'reflect', 'D -> K H', init, (x.shape[-1], K, H)))
        else:
            down = parameter(self, 'reflect_down', 'D -> R', self.kernel_init(), (x.shape[-1], self.rank))
            w = project(project(x, down), parameter(self, 'reflect_up', 'R -> K H', init, (self.rank, K, H)))
        if self.convolution is not None:
            mixer, merged = self.convolution(name='convolution'), rearrange(w, 'B T K H -> B T (K H)')
            own = context.replace(terms=())  # terms apply to scores only
            merged, after = mixer.mix(merged, own, train, None if state is None else state.convolution)
            w = rearrange(merged, 'B T (K H) -> B T K H', H=H)
        write = project(x, parameter(self, 'write', 'D -> K', self.kernel_init(), (x.shape[-1], K)))
        write = write + parameter(self, 'write_bias', 'K', nn.initializers.zeros, (K,))
        return unit(w), 2.0 * jax.nn.sigmoid(write.astype(jnp.float32)), after

    def _check(self, context: LayerContext, scoring: Scoring) -> None:
        name = Part(type(self)).name
        context.require_no_source(name)
        require_causal_mask(name, scoring.mask)
        for term in scoring.terms:
            if reads_content(term):
                raise UserError(
                    f'{name} changes the keys from step to step, and {Part(type(term)).name} reads queries and keys; '
                    'only terms by position or with their own features are supported'
                )


def _by(products: Float[Array, 'B N T S'], scoring: Scoring) -> Scoring:
    """Return the scoring with these products as scores instead of q . k; `Pairs` keep the scale."""
    return scoring.replace(scale=0.0, terms=(GivenProducts(products), *scoring.terms))
