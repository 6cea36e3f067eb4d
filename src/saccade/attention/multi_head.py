# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention: project, attend, output.

    q = x Wq, k = x Wk, v = x Wv;   y = concat_n(attend(q_n, k_g, v_g)) Wo,   g = n // G

Vaswani et al. 2017, "Attention Is All You Need", section 3.2.2, https://arxiv.org/abs/1706.03762
With `key_value_heads` K < N it is grouped-query attention (Ainslie et al. 2023, https://arxiv.org/abs/2305.13245),
with K = 1 multi-query (Shazeer 2019, https://arxiv.org/abs/1911.02150). The kernel says how the heads
attend. Cost: (2 + 2/G) T D N H for the projections, plus the kernel's.
"""

from collections.abc import Mapping
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.attention.base import in_words
from saccade.attention.cache import KVCache, heads_first, slots_for
from saccade.attention.paged import in_pages
from saccade.attention.plain import Plain
from saccade.axes import flat, parameter
from saccade.module import Layer
from saccade.ops.mask import Both, ByPosition, Full, SameSegment
from saccade.ops.project import all_heads, each_head, merge_heads, project, project_together, width_of_heads
from saccade.ops.scoring import Scoring
from saccade.ops.term import require_no_distance
from saccade.position.none import NoPosition
from saccade.types import (
    SHARED_KV,
    CachedKeys,
    Count,
    Features,
    Hidden,
    Kernel,
    LayerContext,
    Mask,
    Mixed,
    Norm,
    Pages,
    PairKernel,
    PairPosition,
    Pairs,
    Part,
    Positive,
    Queries,
    Real,
    ScoreTerm,
    Share,
    Source,
    State,
    TermMaker,
    UserError,
    Values,
    require_result,
)

__all__ = ['MultiHead']


class SharedKV(NamedTuple):
    """Keys (normalised and rotated), values, and features that score terms read, as a KV cache stores them."""

    k: CachedKeys
    v: Values
    features: Features


@struct.dataclass
class SourceKeys:
    """Decoding state of cross-attention: keys and values of the source, heads before tokens as a step needs them."""

    k: Float[Array, 'B K S H']
    v: Float[Array, 'B _ S _']
    features: Features

    def as_made(self) -> SharedKV:
        """Return keys, values and features, tokens before heads."""
        k, v = jax.lax.optimization_barrier((self.k, self.v))  # or XLA swaps the axes before a loop, and back in it
        return SharedKV(heads_first(k), heads_first(v), self.features)


class MultiHead(Layer):
    """Multi-head self-attention; cross-attention where the context has a source.

    Also called: MHA, multihead attention, self-attention, GQA, grouped query, MQA, multi-query.

    Attributes:
        heads: number of query heads (N).
        kernel: how queries attend to keys and values.
        mask: which pairs may attend, besides padding and packing.
        position: position scheme, of queries and keys or of their scores.
        key_value_heads: number of key/value heads (K); None for N.
        head_width: width of a head (H); None for D / N.
        scale: factor of the scores; None for 1 / sqrt(H).
        terms: further score terms, in order, after the position's own; one with parameters is a module whose `terms`
            makes it, as a position's does, and one that reads x a module with `features` too.
        head_norm: of each query and of each key over H, before the positions; one for all queries, one for all keys.
        norm_together: whether `head_norm` is over all heads of a token together, N H features, as in OLMo 2.
        gate: function of a projection of x that each head's output is multiplied by.
        fused: project with the kernels side by side, as one matrix product.
        bias: of the query, key and value projections.
        output_bias: of the output projection.
        dropout: of the output.
        kernel_init: initialiser of all projections except the output projection.
        output_init: initialiser of the output projection.
        query_init: of the projection to queries, as in T5, which does not scale scores; None for `kernel_init`.

    A variant overrides the step in which it differs: `project`, `project_heads`, `rotate`, `scoring`,
    `attend`, `empty_cache`, or `project_output`.
    """

    heads: Count
    kernel: Part[Kernel] = Part(Plain)
    mask: Part[Mask] = Part(Full)
    position: Part[PairPosition] = Part(NoPosition)
    key_value_heads: Count | None = None
    head_width: Count | None = None
    scale: Positive | None = None
    terms: tuple[Part[ScoreTerm] | Part[TermMaker], ...] = ()
    head_norm: Part[Norm] | None = None
    norm_together: bool = False
    gate: Part | None = None
    fused: bool = False
    bias: bool = False
    output_bias: bool = False
    dropout: Share = 0.0
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)
    query_init: Part | None = None

    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Attend within whole sequences, where the state is None, or from a chunk to the state and the chunk."""
        return self.mix_sharing(x, context, train, state)[:2]

    @nn.compact
    def mix_sharing(
        self, x: Hidden, context: LayerContext, train: bool, state: State | None
    ) -> tuple[Hidden, State, SharedKV]:
        """Attend as `mix` does; return the output, the state, and the keys, values and features of these tokens."""
        position, source = self.position(name='position'), context.read(x)
        made = state.as_made() if isinstance(state, SourceKeys) else context.handed.get(SHARED_KV)
        projected = self.project(x, context, made)
        require_result(self, 'project', projected, (..., ..., ...))
        q, k, v = projected  # [B T N H], [B S K H], [B S K H]
        if made is None:
            q, k = self.rotate(position, q, k, context.positions, source.positions)
        else:  # keys that were made before have their positions
            q, _ = self.rotate(position, q, q[..., :0, :], context.positions, context.positions)
        q = self.tap('query', 'B T N H', q, real=context.real)
        k, v = (self.tap(name, 'B S K H', each, real=source.real) for name, each in (('key', k), ('value', v)))
        scoring = self.scoring(x, context, position, made)
        mixed, state = self.attend(q, k, v, scoring, x, context, train, state)  # [B T N H]
        y = self.project_output(x, mixed, context.real, train)  # [B T D]
        return y, state, SharedKV(k, v, scoring.features)

    def project(self, x: Hidden, context: LayerContext, made: SharedKV | None) -> tuple[Queries, CachedKeys, Values]:
        """Return queries of x, and keys and values of the source (without one, of x), or those made before."""
        source = context.read(x)
        inputs = {'query': x} | ({'key': source.hidden, 'value': source.hidden} if made is None else {})
        heads = self.project_heads(inputs, x.shape[-1])
        if self.norm_together and self.head_norm is None:
            raise UserError('attention.multi_head:MultiHead: norm_together has no effect without head_norm')
        if self.head_norm is not None:
            normalise = all_heads if self.norm_together else each_head
            for name, real in (('query', context.real), ('key', source.real)):
                if name in heads:
                    heads[name] = normalise(self.head_norm(name=f'{name}_norm'), heads[name], real)
        k, v = (heads['key'], heads['value']) if made is None else (made.k, made.v)
        return heads['query'], k, v

    def project_heads(self, inputs: Mapping[str, Array], D: int) -> dict[str, Array]:
        """Project each input to its queries, keys or values, in heads; D is the width of the queries' input."""
        makes = self.projections(D)
        kernels = {}
        for name, x in inputs.items():
            axes, sizes = makes[name]
            init = self.query_init if name == 'query' and self.query_init else self.kernel_init
            kernels[name] = parameter(self, name, f'D -> {axes}', flat(init, 1), (x.shape[-1], *sizes))
        if self.fused:
            made = project_together(inputs, kernels)
        else:
            made = {name: project(x, kernels[name]) for name, x in inputs.items()}
        if self.bias:
            zeros = nn.initializers.zeros
            made = {
                name: y + parameter(self, f'{name}_bias', makes[name][0], zeros, y.shape[-2:])
                for name, y in made.items()
            }
        return made

    def projections(self, D: int) -> dict[str, tuple[str, tuple[int, int]]]:
        """Return the axes of what each projection makes, and their sizes, at width D."""
        N, K, H = self.sizes(D)
        return {'query': ('N H', (N, H)), 'key': ('K H', (K, H)), 'value': ('K H', (K, H))}

    def rotate(
        self,
        position: PairPosition,
        q: Queries,
        k: CachedKeys,
        q_positions: Int[Array, 'B T'],
        k_positions: Int[Array, 'B S'],
    ) -> tuple[Queries, CachedKeys]:
        """Return queries and keys changed by their positions; keys that were made before come without heads."""
        return position.rotate(q, k, q_positions, k_positions)

    def scoring(self, x: Hidden, context: LayerContext, position: PairPosition, made: SharedKV | None) -> Scoring:
        """Return scale, mask, score terms (of the position, of all layers, of this layer), and features for them."""
        N, _, H = self.sizes(x.shape[-1])
        terms, features = [*position.terms(N), *context.terms], {} if made is None else made.features
        for number, part in enumerate(self.terms):
            if hasattr(part.target, 'terms'):
                maker = part(name=f'term_{number}')
                terms += maker.terms(N)
                if made is None and hasattr(maker, 'features'):
                    features[maker.name] = maker.features(context.read(x).hidden, N)
            else:
                terms.append(part())
        scale = H**-0.5 if self.scale is None else self.scale
        return Scoring(self.mask().of(context), tuple(terms), scale, features=features)

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
        """Attend queries to keys; return the output of each head, and the state after it."""
        kernel = self.kernel(name='kernel')
        if state is None or isinstance(state, SourceKeys):
            return kernel(q, k, v, visible(scoring, context), train), state
        return kernel.step(q, k, v, scoring, state, context)

    def project_output(self, x: Hidden, mixed: Mixed, real: Real | None, train: bool) -> Hidden:
        """Gate the outputs of the heads, merge them, and project them to [B T D]."""
        if self.gate is not None:
            shape = (x.shape[-1], *mixed.shape[-2:])
            mixed = mixed * self.gate(project(x, parameter(self, 'gate', 'D -> N H', flat(self.kernel_init, 1), shape)))
        mixed, shape = self.tap('heads', 'B T N H', mixed, real=real), (*mixed.shape[-2:], x.shape[-1])
        y = merge_heads(mixed, parameter(self, 'output', 'N H -> D', flat(self.output_init, 2), shape))
        if self.output_bias:
            y = y + parameter(self, 'output_bias', 'D', nn.initializers.zeros, y.shape[-1:])
        return nn.Dropout(self.dropout)(y, deterministic=not train)

    def init_state(self, x: Hidden, capacity: int, source: Source | None = None) -> State:
        """Return the empty KV cache; under a mask that looks back R tokens, R + 1 slots a row are enough.

        With a source, return its keys and values.
        """
        if source is None:
            return self.empty_cache(*self.empty_kv(x), slots_for(self.mask(), capacity))
        # Linen makes parameters in one method of a class. The compiler drops the query of the first token.
        context = LayerContext(jnp.zeros((x.shape[0], 1), jnp.int32), source=source)
        k, v, features = self.mix_sharing(x[:, :1], context, False, None)[2]
        return SourceKeys(heads_first(k), heads_first(v), features)

    def init_pages(self, x: Hidden, pages: Pages) -> State:
        """Return the empty KV cache in pages; a ring buffer, or the state of a linear kernel, is each row's own."""
        return in_pages(self.init_state, x, pages)

    def empty_kv(self, x: Hidden) -> SharedKV:
        """Return zeros in the shapes and dtypes of the keys, values and features of x."""
        k, v = (jnp.zeros((*x.shape[:2], *heads), x.dtype) for heads in self.kv_shapes(x.shape[-1]))
        features = {
            f'term_{number}': jnp.zeros((*x.shape[:2], part(parent=None).width(self.heads)), x.dtype)
            for number, part in enumerate(self.terms)
            if hasattr(part.target, 'features')
        }
        return SharedKV(k, v, features)

    def empty_cache(self, k: CachedKeys, v: Values, features: Features, capacity: int) -> State:
        """Return an empty KV cache of `capacity` slots a row, in the shapes and dtypes of `empty_kv`."""
        return self.kernel(parent=None).init_state(k, v, features, capacity)

    def kv_shapes(self, D: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return heads and width of the cached keys, and of the cached values, at width D."""
        _, K, H = self.sizes(D)
        return (K, H), (K, H)

    def heads_in_words(self, D: int) -> str:
        """Return N, H and, where they are fewer, K in words."""
        N, K, H = self.sizes(D)
        return in_words(N, H) + ('' if K == N else f', {K} key/value head{"s" * (K != 1)}')

    def sizes(self, D: int) -> tuple[int, int, int]:
        """Return N, K and H at width D.

        Raises:
            UserError: K does not divide N, or N does not divide D where no `head_width` is given.
        """
        K = self.heads if self.key_value_heads is None else self.key_value_heads
        if self.heads % K:
            raise UserError(f'{self.heads} heads cannot share {K} key_value_heads: choose a divisor of {self.heads}')
        return self.heads, K, width_of_heads(D, self.heads, self.head_width)


def attended_pairs(
    kernel: PairKernel,
    q: Queries,
    k: CachedKeys,
    v: Values,
    scoring: Scoring,
    context: LayerContext,
    train: bool,
    cache: KVCache | None,
) -> tuple[Scoring, Array, Array, Pairs, KVCache | None]:
    """Return complete scoring, keys, values and pairs: of whole sequences, or of the cache with the chunk in it."""
    if cache is None:
        scoring = kernel.complete(visible(scoring, context), q.shape[-2], train)
        places = jnp.arange(k.shape[1])
        return scoring, k, v, scoring.pairs(places, places), None
    cache = cache.append(k, v, scoring.features, context)
    scoring = kernel.complete(scoring, q.shape[-2], False)
    return scoring, *cache.read(scoring, context), cache


def visible(scoring: Scoring, context: LayerContext) -> Scoring:
    """Return the scoring with its mask by position in the sequence, within segments and without padding.

    In packed rows, tokens attend within their segment, each treated as a separate sequence.

    Raises:
        UserError: keys are of another sequence, and a score term goes by distance.
    """
    mask, aligned = scoring.mask, context.source is None
    keys = context if aligned else context.source
    if not aligned:
        require_no_distance(scoring.terms)
    whole_rows = context.segments is None and keys.segments is None
    if aligned and (context.one_segment or whole_rows):
        return scoring
    if mask.anchored or not aligned:
        mask = ByPosition(mask, jnp.asarray(context.positions), jnp.asarray(keys.positions), aligned)
    return scoring.replace(mask=mask if whole_rows else Both(mask, SameSegment(context.numbered, keys.numbered)))
