# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-head latent attention (MLA): keys and values of all heads are projected from one small latent per token.

    c_j = norm(x_j Wc);   k_nj = [c_j Uk_n ; rotate(x_j Wr)],   v_nj = c_j Uv_n;   q_ni = [q_ni ; rotate(q'_ni)]

DeepSeek-AI 2024, "DeepSeek-V2", equations 9 to 19, https://arxiv.org/abs/2405.04434
The state has only c and the rotated key, R + H' numbers per token for all heads together: a step absorbs Uk into the
query and Uv into the output, as in section 2.1.2, and so attends over latents. With `query_rank`, queries come from a
separate latent. Cost: a kernel's with queries and keys of width H + H'. It needs a score-based kernel.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float

from saccade.attention.base import in_words, require_scores
from saccade.attention.cache import Cache, slots_for
from saccade.attention.multi_head import visible
from saccade.attention.paged import in_pages
from saccade.attention.plain import Plain
from saccade.axes import flat, parameter
from saccade.module import Layer
from saccade.norm.layer import LayerNorm
from saccade.ops.mask import Full
from saccade.ops.project import merge_heads, project
from saccade.ops.scoring import Scoring
from saccade.ops.term import reads_content
from saccade.position.none import NoPosition
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Hidden,
    Kernel,
    LayerContext,
    Mask,
    Mixed,
    Norm,
    Pages,
    PairPosition,
    Part,
    Positive,
    Queries,
    Real,
    ScoreTerm,
    Share,
    Source,
    State,
    UserError,
    Values,
)

__all__ = ['Latent']


@struct.dataclass
class LatentCache(Cache):
    """Cache of latents and rotated keys, as one key head; the values are the latents themselves.

    Attributes:
        rank: width of the latent (R), the first features of a key.
    """

    rank: int = struct.field(pytree_node=False, kw_only=True)

    def values(self) -> Array:
        """Return the values by slot, [B 1 S R]: the latents, which are the first R features of the keys."""
        return self.keys()[..., : self.rank]


class Latent(Layer):
    """Multi-head latent attention (MLA).

    Also called: MLA, multi-head latent, latent attention.

    Attributes:
        heads: number of heads (N).
        rank: width of the latent shared by keys and values (R).
        head_width: width of queries and keys without the rotated part (H).
        value_width: width of values.
        rotated_width: width of the rotated part of the queries, and of the one rotated key (H').
        kernel: score-based attention kernel.
        mask: mask of allowed pairs, in addition to padding and packing.
        position: position scheme, of the rotated part of queries and keys or of the scores.
        norm: norm of the latents.
        query_rank: width of the latent of the queries; None for a direct projection.
        scale: factor of the scores; None for 1 / sqrt(H + H').
        dropout: rate for the output.
        kernel_init: initialiser of all projections except the output projection.
        output_init: initialiser of the output projection.
    """

    heads: Count
    rank: Count
    head_width: Count
    value_width: Count
    rotated_width: Count
    kernel: Part[Kernel] = Part(Plain)
    mask: Part[Mask] = Part(Full)
    position: Part[PairPosition] = Part(NoPosition)
    norm: Part[Norm] = Part(LayerNorm)
    query_rank: Count | None = None
    scale: Positive | None = None
    dropout: Share = 0.0
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(content=False, scores=True, state='S (R + H)')
    example: ClassVar[dict[str, Any]] = dict(rank=6, head_width=4, value_width=3, rotated_width=2)

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Attend in whole sequences with keys and values of all heads, or from a chunk of tokens to cached latents.

        Raises:
            UserError: the kernel is not score-based, or a score term reads queries and keys.
        """
        source, position = context.read(x), self.position(name='position')
        q, latent = self._queries(x, context.real), self.make_latent(source)
        rotated = self._down('rotated_key', source.hidden, self.rotated_width)[:, :, None]
        turned, rotated = position.rotate(q[..., self.head_width :], rotated, context.positions, source.positions)
        q = jnp.concatenate([q[..., : self.head_width], turned], axis=-1)
        terms = self._served((*position.terms(self.heads), *context.terms))
        scoring = Scoring(self.mask().of(context), terms, q.shape[-1] ** -0.5 if self.scale is None else self.scale)
        mixed, state = self.attend(q, latent, rotated, scoring, context, train, state)
        mixed, shape = (
            self.tap('heads', 'B T N H', mixed, real=context.real),
            (self.heads, self.value_width, x.shape[-1]),
        )
        y = merge_heads(mixed, parameter(self, 'output', 'N H -> D', flat(self.output_init, 2), shape))
        return nn.Dropout(self.dropout)(y, deterministic=not train), state

    def attend(
        self,
        q: Queries,
        latent: Float[Array, 'B S *K R'],
        rotated: Float[Array, 'B S 1 _'],
        scoring: Scoring,
        context: LayerContext,
        train: bool,
        state: State | None,
    ) -> tuple[Mixed, State]:
        """Attend to keys and values projected from the latents, or, in a step, to the latents themselves.

        A step absorbs Uk into the queries, and Uv into the weighted sum of latents.
        """
        kernel = self.kernel(name='kernel')
        require_scores(self, kernel)
        up_key, up_value = (
            self._up(name, width) for name, width in (('key', self.head_width), ('value', self.value_width))
        )
        if state is None:
            k, v = (self.expand(latent, up) for up in (up_key, up_value))
            return kernel(q, append_rotated(k, rotated), v, visible(scoring, context), train), state
        plain, turned = q[..., : self.head_width], q[..., self.head_width :]
        q = jnp.concatenate([jnp.einsum('BTNH,RNH->BTNR', plain, up_key), turned], axis=-1)
        mixed, state = kernel.step(q, *self.cached(latent, rotated), scoring, state, context)
        return jnp.einsum('BTNR,RNH->BTNH', mixed, up_value), state

    def init_state(self, x: Hidden, capacity: int) -> State:
        """Return an empty cache of latents and rotated keys for up to `capacity` tokens per row."""
        one_head = (*x.shape[:2], 1)
        k, nothing = (jnp.zeros((*one_head, width), x.dtype) for width in (self.rank + self.rotated_width, 0))
        return LatentCache.empty(k, nothing, {}, slots_for(self.mask(), capacity), rank=self.rank)

    def init_pages(self, x: Hidden, pages: Pages) -> State:
        """Return the empty cache of latents and rotated keys in pages."""
        return in_pages(self.init_state, x, pages)

    def make_latent(self, source: Source) -> Float[Array, 'B S R']:
        """Return the normalised latent of each token."""
        return self.norm(name='latent_norm')(self._down('latent', source.hidden, self.rank), source.real)

    def expand(self, latent: Float[Array, 'B S R'], up: Float[Array, 'R N H']) -> Float[Array, 'B S N H']:
        """Compute keys or values of every head from the latents."""
        return project(latent, up)

    def cached(self, latent: Float[Array, 'B T R'], rotated: Float[Array, 'B T 1 _']) -> tuple[CachedKeys, Values]:
        """Return the cached arrays, as keys and as values."""
        k = jnp.concatenate([latent[:, :, None], rotated], axis=-1)
        return k, k[..., :0]

    def _served(self, terms: tuple[ScoreTerm, ...]) -> tuple[ScoreTerm, ...]:
        """Raise a UserError for terms that read queries and keys, which are latents in decoding steps."""
        for term in terms:
            if reads_content(term):
                raise UserError(
                    f'{Part(type(self)).name} decodes over latents, so {Part(type(term)).name} cannot read queries '
                    f'and keys; choose a position that rotates them, or a bias of positions only'
                )
        return terms

    def _queries(self, x: Array, real: Real | None) -> Queries:
        axes = 'D -> N H'
        if self.query_rank is not None:
            x, axes = self.norm(name='query_norm')(self._down('query_latent', x, self.query_rank), real), 'R -> N H'
        shape = (x.shape[-1], self.heads, self.head_width + self.rotated_width)
        return project(x, parameter(self, 'query', axes, flat(self.kernel_init, 1), shape))

    def _down(self, name: str, x: Array, width: int) -> Array:
        return project(x, parameter(self, name, 'D -> R', self.kernel_init(), (x.shape[-1], width)))

    def _up(self, name: str, width: int) -> Float[Array, 'R N H']:
        return parameter(self, name, 'R -> N H', flat(self.kernel_init, 1), (self.rank, self.heads, width))

    def heads_in_words(self, D: int) -> str:
        """Return N and H as text."""
        return in_words(self.heads, self.head_width)


def append_rotated(k: Float[Array, 'B S K _'], rotated: Float[Array, 'B S 1 _']) -> Float[Array, 'B S K _']:
    """Append the rotated key, shared by all heads, to the keys."""
    return jnp.concatenate([k, jnp.broadcast_to(rotated, (*k.shape[:-1], rotated.shape[-1]))], axis=-1)
