# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention: project, attend, output.

    q = x Wq, k = x Wk, v = x Wv;   y = concat_n(attend(q_n, k_g, v_g)) Wo,   g = n // G

Vaswani et al. 2017, "Attention Is All You Need", section 3.2.2, https://arxiv.org/abs/1706.03762
With `key_value_heads` K < N it is grouped-query attention (Ainslie et al. 2023, https://arxiv.org/abs/2305.13245),
with K = 1 multi-query (Shazeer 2019, https://arxiv.org/abs/1911.02150). The kernel says how the heads
attend. Cost: (2 + 2/G) T D N H for the projections, plus the kernel's.
"""

from collections.abc import Iterator, Mapping, Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.attention.base import in_words
from saccade.attention.cache import Cache, heads_first, slots_for
from saccade.axes import flat, parameter
from saccade.ops.mask import MaskBase, within_segments
from saccade.ops.project import all_heads, each_head, merge_heads, project, project_together
from saccade.ops.scoring import Scoring
from saccade.ops.term import OnFeatures, require_no_distance
from saccade.types import (
    SHARED_KV,
    CachedKeys,
    Count,
    Hidden,
    Kernel,
    Keys,
    Layer,
    LayerContext,
    Mask,
    Mixed,
    Norm,
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
    require_positive,
    require_result,
    require_share,
)

__all__ = ['MultiHead']

SharedKV = tuple[CachedKeys, Values]  # normalised and rotated, as they are cached


@struct.dataclass
class SourceKeys:
    """Decoding state of cross-attention: keys and values of the source, heads before tokens as a step needs them."""

    k: Float[Array, 'B K S H']
    v: Float[Array, 'B _ S _']

    def as_made(self) -> SharedKV:
        """Return keys and values, tokens before heads."""
        k, v = jax.lax.optimization_barrier((self.k, self.v))  # or XLA swaps the axes before a loop, and back in it
        return heads_first(k), heads_first(v)


class MultiHead(Layer):
    """Multi-head self-attention; cross-attention where the context has a source.

    Also called: MHA, multihead attention, self-attention, GQA, grouped query, MQA, multi-query.

    Attributes:
        heads: N.
        kernel: how queries attend to keys and values.
        mask: which pairs may attend, besides padding and packing.
        position: position scheme, of queries and keys or of their scores.
        key_value_heads: K; None for N.
        head_width: H; None for D / N.
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
        kernel_init, output_init: initialisers of the projections, and of the output projection.
        query_init: of the projection to queries, as in T5, which does not scale scores; None for `kernel_init`.

    A variant overrides the step in which it differs: `project`, `project_heads`, `rotate`, `scoring`,
    `attend`, `empty_cache`, or `project_output`.
    """

    heads: Count
    kernel: Part[Kernel]
    mask: Part[Mask]
    position: Part[PairPosition]
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
        """Attend as `mix` does; return the output, the state, and the keys and values [B S K H] of these tokens."""
        position, source = self.position(name='position'), context.read(x)
        made = state.as_made() if isinstance(state, SourceKeys) else context.handed.get(SHARED_KV)
        projected = self.project(x, context, made)
        require_result(self, 'project', projected, (..., ..., ...))
        q, k, v = projected
        if made is None:
            q, k = self.rotate(position, q, k, context.positions, source.positions)
        else:
            q, _ = self.rotate(position, q, q[..., :0, :], context.positions, context.positions)
        if self.terms and self._featured:
            q, k = self._padded(q), k if made else self._with_features(k, source.hidden)
        scoring = self.scoring(x.shape[-1], context, position)
        mixed, state = self.attend(q, k, v, scoring, x, context, train, state)
        return self.project_output(x, mixed, context.real, train), state, (k, v)

    def project(self, x: Hidden, context: LayerContext, made: SharedKV | None) -> tuple[Queries, CachedKeys, Values]:
        """Return queries of x, and keys and values of the source (x where there is none), or those made before."""
        source, D = context.read(x), x.shape[-1]
        if made is None:
            heads = self.project_heads({'query': x, 'key': source.hidden, 'value': source.hidden}, D)
        else:
            heads = self.project_heads({'query': x}, D)
        if self.head_norm is not None:
            norms = {'query': context.real} | ({'key': source.real} if made is None else {})
            apply = all_heads if self.norm_together else each_head
            heads |= {of: apply(self.head_norm(name=f'{of}_norm'), heads[of], real) for of, real in norms.items()}
        return (heads['query'], heads['key'], heads['value']) if made is None else (heads['query'], *made)

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

    def scoring(self, D: int, context: LayerContext, position: PairPosition) -> Scoring:
        """Return the scale, the mask and the score terms: of the position, of all layers, and of this layer alone."""
        N, _, H = self.sizes(D)
        terms = (*position.terms(N), *context.terms)
        if self.terms:
            terms = (*self._given(terms, H), *self._own_terms(N, H))
        return Scoring(self.pair_mask().of(context), terms, H**-0.5 if self.scale is None else self.scale)

    def _own_terms(self, N: int, H: int) -> Iterator[ScoreTerm]:
        """Yield the score terms of this layer alone."""
        for number, part in enumerate(self.terms):
            if number in self._featured:
                made = part(parent=None).terms(N)  # its parameters make the features
            else:
                made = part(name=f'term_{number}').terms(N) if hasattr(part.target, 'terms') else (part(),)
            yield from self._given(made, H, number)

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
        shape = (*mixed.shape[-2:], x.shape[-1])
        y = merge_heads(mixed, parameter(self, 'output', 'N H -> D', flat(self.output_init, 2), shape))
        if self.output_bias:
            y = y + parameter(self, 'output_bias', 'D', nn.initializers.zeros, y.shape[-1:])
        return nn.Dropout(self.dropout)(y, deterministic=not train)

    def project_heads(self, inputs: Mapping[str, Array], D: int) -> dict[str, Array]:
        """Project each input to its queries, keys or values, in heads; D is the width of the queries' input."""
        makes = self.projections(D)
        kernels = {}
        for name, x in inputs.items():
            init, (axes, sizes) = (
                self.query_init if name == 'query' and self.query_init else self.kernel_init,
                makes[name],
            )
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

    def init_state(self, x: Hidden, capacity: int, source: Source | None = None) -> State:
        """Return the empty KV cache; under a mask that looks back R tokens, R + 1 slots a row are enough.

        With a source, return its keys and values.
        """
        if source is not None:
            return self._source_keys(x, source)
        k, v = (jnp.zeros((*x.shape[:2], *heads), x.dtype) for heads in self.cache_shapes(x.shape[-1]))
        return self.empty_cache(k, v, slots_for(self.pair_mask(), capacity))

    def empty_cache(self, k: CachedKeys, v: Values, capacity: int) -> State:
        """Return an empty KV cache of `capacity` slots a row, in the shapes and dtypes of a token's k and v."""
        return self.kernel(parent=None).init_state(k, v, capacity)

    def _source_keys(self, x: Hidden, source: Source) -> SourceKeys:
        # Linen makes parameters in one method of a class. The compiler drops the query of the first token.
        context = LayerContext(jnp.zeros((x.shape[0], 1), jnp.int32), source=source)
        k, v = self.mix_sharing(x[:, :1], context, False, None)[2]
        return SourceKeys(heads_first(k), heads_first(v))

    def pair_mask(self) -> MaskBase:
        """Return the mask of pairs, besides padding and packing."""
        return self.mask()

    def kv_shapes(self, D: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return heads and width of the keys, and of the values, at width D."""
        _, K, H = self.sizes(D)
        return (K, H), (K, H)

    def heads_in_words(self, D: int) -> str:
        """Return N, H and, where they are fewer, K in words."""
        N, K, H = self.sizes(D)
        return in_words(N, H) + ('' if K == N else f', {K} key/value head{"s" * (K != 1)}')

    def cache_shapes(self, D: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return heads and width of what is cached: of the keys with their features, and of the values."""
        (K, width), values = self.kv_shapes(D)
        return (K, width + sum(self._featured.values())), values

    @property
    def _featured(self) -> dict[int, int]:
        """The terms that read x, by their number among the terms: how many numbers of each key head they make."""
        groups = self.heads // (self.key_value_heads or self.heads)
        makers = {number: part for number, part in enumerate(self.terms) if hasattr(part.target, 'features')}
        return {number: part(parent=None).width(groups) for number, part in makers.items()}

    def _with_features(self, k: Keys, x: Float[Array, 'B S _']) -> Float[Array, 'B S K _']:
        """Return keys with the features that terms read after them."""
        K = self.key_value_heads or self.heads
        made = [self.terms[at](name=f'term_{at}').features(x, K, self.heads // K) for at in self._featured]
        return self.beside(k, jnp.concatenate(made, axis=-1)) if made else k

    def beside(self, k: Keys, features: Float[Array, 'B S K _']) -> Float[Array, 'B S _ _']:
        """Return what is cached of keys, with the features that terms read after them."""
        return jnp.concatenate([k, features], axis=-1)

    def _padded(self, q: Queries) -> Float[Array, 'B T N _']:
        """Return queries with zeros where keys have features, so that these are in no product."""
        return jnp.pad(q, ((0, 0), (0, 0), (0, 0), (0, sum(self._featured.values()))))

    def _given(self, terms: Sequence[ScoreTerm], H: int, number: int = -1) -> Sequence[ScoreTerm]:
        """Have terms read queries and keys without features; or the features of the term of this number as keys."""
        if not self._featured:
            return terms
        first = H + sum(width for at, width in self._featured.items() if at < number)
        of_keys = (first, first + self._featured[number]) if number in self._featured else (0, H)
        return [OnFeatures(term, (0, H), of_keys) for term in terms]

    def sizes(self, D: int) -> tuple[int, int, int]:
        """Return N, K and H at width D.

        Raises:
            UserError: K does not divide N, N does not divide D where no `head_width` is given, or a size is below 1.
        """
        K = self.heads if self.key_value_heads is None else self.key_value_heads
        require_positive('attention.multi_head:MultiHead', heads=self.heads, key_value_heads=K)
        require_share('attention.multi_head:MultiHead', dropout=self.dropout)
        H = width_of_heads(D, self.heads, self.head_width)
        require_positive('attention.multi_head:MultiHead', head_width=H)
        if self.heads % K:
            raise UserError(f'{self.heads} heads cannot share {K} key_value_heads: choose a divisor of {self.heads}')
        return self.heads, K, H

    def report(self, kernel: PairKernel, weights: Float[Array, 'B N T S']) -> None:
        """Report attention weights in 'weights', where they are asked for."""
        if not self.is_initializing():
            kernel.sow('weights', 'attention', weights)


def attended_pairs(
    kernel: PairKernel,
    q: Queries,
    k: CachedKeys,
    v: Values,
    scoring: Scoring,
    context: LayerContext,
    train: bool,
    cache: Cache | None,
) -> tuple[Scoring, Array, Array, Pairs, Cache | None]:
    """Return complete scoring, keys, values and pairs: of whole sequences, or of the cache with the chunk in it."""
    if cache is None:
        scoring, places = kernel.complete(visible(scoring, context), q.shape[-2], train), jnp.arange(k.shape[1])
        return scoring, k, v, scoring.pairs(places, places), None
    cache = cache.append(k, v, context)
    scoring, k, v = cache.read(kernel.complete(scoring, q.shape[-2], False), context)
    return scoring, k, v, scoring.pairs(context.positions, cache.positions), cache


def visible(scoring: Scoring, context: LayerContext) -> Scoring:
    """Return the scoring with its mask restricted to equal segments, without padding.

    Raises:
        UserError: keys are of another sequence, and a score term goes by distance.
    """
    if context.source is not None:
        require_no_distance(scoring.terms)
    return scoring.replace(mask=within_segments(scoring.mask, context))


def width_of_heads(D: int, heads: int, given: int | None) -> int:
    """Return H, as given, or an equal share of the width.

    Raises:
        UserError: H is not given, and the heads do not divide the width.
    """
    if given is None and D % heads:
        raise UserError(f'width {D} is not divisible by {heads} heads: choose a width that is, or give head_width')
    return D // heads if given is None else given
