# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base classes of kernels and mixers with a fixed-size state instead of a KV cache."""

from collections.abc import Callable
from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from einops import rearrange
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.attention.base import in_words
from saccade.axes import flat, parameter
from saccade.module import Layer, Module, positions_of
from saccade.ops import linear_attention
from saccade.ops.implied import NOTE, implied_pattern
from saccade.ops.linear_attention import LogScaledState, Memory
from saccade.ops.project import each_head, merge_heads, project, width_of_heads
from saccade.ops.reach import reach_of
from saccade.ops.scoring import Scoring
from saccade.types import (
    Activation,
    Capabilities,
    Count,
    Features,
    Hidden,
    Keys,
    LayerContext,
    Mixed,
    Mixer,
    Norm,
    Part,
    Queries,
    Real,
    Share,
    State,
    UserError,
    Values,
    refuse_terms,
    require_result,
)


class FeatureKernel(Module):
    """Base of linear attention kernels: weights are products of features, without scores.

    Attributes:
        chunk: tokens that attend to each other through a matrix, and to earlier ones through sums. Does not change the
            output.
    """

    chunk: Count = 64

    def features(self, x: Queries, scale: float, positions: Int[Array, 'B T']) -> tuple[Array, Array]:
        """Return features [B T N R] of queries or keys, at most 1, and the log [B T N] of their factored-out scale.

        Args:
            positions: positions of the tokens; only differences within a segment have a meaning.
        """
        raise NotImplementedError

    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Scoring, train: bool = False) -> Mixed:
        self.show('pattern', 'B N T S', lambda: self._pattern(q, k, v, scoring), NOTE)
        return self.attend(q, k, v, scoring)

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Return the output of each head, over whole rows."""
        reach = reach_of(self, scoring, q, k)
        if reach.causal:
            context = LayerContext(positions_of(k), None if reach.segments is None else reach.segments.k_segments)
            return self._read(q, k, v, scoring, context, self.init_state(k, v, {}, 0))[0]
        features, gain = self.features(k, scoring.scale, positions_of(k))
        queries = self.features(q, scoring.scale, positions_of(q))[0]
        return linear_attention.attend_all(queries, features, gain, v, reach.segments, self.chunk)

    def init_state(self, k: Keys, v: Values, features: Features, capacity: int) -> LogScaledState:
        """Return the empty state, whose size does not depend on the capacity."""
        width = jax.eval_shape(lambda: self.features(k, 1.0, positions_of(k))[0]).shape[-1]
        return LogScaledState.empty(k.shape[0], k.shape[2], width, v.shape[3] + 1)

    def step(
        self, q: Queries, k: Keys, v: Values, scoring: Scoring, state: LogScaledState, context: LayerContext
    ) -> tuple[Mixed, LogScaledState]:
        """Add a chunk's key features and values to the state and attend to it; return the output and the new state.

        Raises:
            UserError: the mask is not causal.
        """
        if not reach_of(self, scoring, q, k).causal:
            raise UserError(f'{Part(type(self)).name} decodes only under ops.mask:Causal')
        return self._read(q, k, v, scoring, context, state)

    def _pattern(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Float[Array, 'B N T S']:
        k, v = (jnp.repeat(x, q.shape[-2] // x.shape[-2], axis=-2) for x in (k, v))
        return implied_pattern(*jax.vjp(lambda v: self.attend(q, k, v, scoring), v))

    def _read(
        self, q: Queries, k: Keys, v: Values, scoring: Scoring, context: LayerContext, state: LogScaledState
    ) -> tuple[Mixed, LogScaledState]:
        features, gain = self.features(k, scoring.scale, context.positions)
        queries = self.features(q, scoring.scale, context.positions)[0]
        return linear_attention.attend(queries, features, gain, v, context.numbered, state, self.chunk)


@struct.dataclass
class ConvolvedState:
    """Decoding state of a mixer whose queries, keys and values are convolved; axis 0 of every leaf is the batch.

    Attributes: memory, of fixed size; convolution, the state of the convolution: its last input tokens.
    """

    memory: Memory
    convolution: State


class FixedStateBase(Layer):
    """Base of mixers with a fixed-size memory: sizes, projections, a norm per head, and decoding.

    Attributes:
        heads: number of heads (N).
        head_width: width of queries and keys (H); None for D / N.
        value_width: width of each head's values (V); None for H.
        head_norm: norm of each head's output, with parameters shared by the heads.
        merged_norm: norm of all heads' outputs, concatenated: `norm.group:GroupNorm` with N groups normalises each head
            with its own parameters.
        chunk: tokens processed at once through a matrix; earlier tokens come from the memory. Does not change the
            output.
        dropout: rate for the output.
        kernel_init: initialiser of all projections except the output projection.
        output_init: initialiser of the output projection.
    """

    heads: Count
    head_width: Count | None = None
    value_width: Count | None = None
    head_norm: Part[Norm] | None = None
    merged_norm: Part[Norm] | None = None
    chunk: Count = 64
    dropout: Share = 0.0
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(
        cross=False,
        full=False,
        terms=False,
        sums=True,
        equivariant=False,
        time='B T N H V',
        memory='B T N V',
        state='N H V',
    )

    def empty_memory(self, batch: int, heads: int, width: int, value_width: int) -> Memory:
        """Return the memory before the first token."""
        return Memory.empty(batch, heads, width, value_width)

    def to_heads(
        self, name: str, x: Hidden, width: int, rank: int | None = None, activation: Activation = jax.nn.identity
    ) -> Queries:
        """Project x to [B T N width]; with a rank, through `rank` features and their activation.

        Called in a compact method.
        """
        if rank is not None:
            down = parameter(self, f'{name}_down', 'D -> R', self.kernel_init(), (x.shape[-1], rank))
            return self.projected(f'{name}_up', 'R -> N H', activation(project(x, down)), (self.heads, width))
        return self.projected(name, 'D -> N H', x, (self.heads, width))

    def scalars(self, name: str, x: Hidden, copies: int = 1) -> Array:
        """Project x to `copies` numbers per head [B T N], in float32. Called in a compact method."""
        kernel = parameter(self, name, 'D -> N', self.kernel_init(), (x.shape[-1], copies * self.heads))
        return project(x, kernel).astype(jnp.float32)

    def projected(self, name: str, axes: str, x: Hidden, shape: tuple[int, ...]) -> Array:
        """Project x [B T D] to [B T *shape], with a kernel of these axes. Called in a compact method."""
        return project(x, parameter(self, name, axes, flat(self.kernel_init, 1), (x.shape[-1], *shape)))

    def normalised(self, y: Queries, context: LayerContext) -> Queries:
        """Apply the norms of the heads. Called in a compact method."""
        if self.head_norm is not None:
            y = each_head(self.head_norm(name='head_norm'), y, context.real)
        return y if self.merged_norm is None else self.side_by_side('merged_norm', self.merged_norm, y, context)

    def side_by_side(self, name: str, norm: Part[Norm], y: Queries, context: LayerContext) -> Queries:
        """Normalise all heads, concatenated [B T (N V)]. Called in a compact method."""
        merged = norm(name=name)(rearrange(y, 'B T N H -> B T (N H)'), context.real)
        return rearrange(merged, 'B T (N H) -> B T N H', H=y.shape[-1])

    def to_output(self, y: Queries, D: int, real: Real | None, train: bool) -> Hidden:
        """Concatenate the heads [B T N V] and project them to [B T D]. Called in a compact method."""
        y = self.tap('heads', 'B T N H', y, real=real)
        y = merge_heads(y, parameter(self, 'output', 'N H -> D', flat(self.output_init, 2), (*y.shape[-2:], D)))
        return nn.Dropout(self.dropout)(y, deterministic=not train)

    def shown(self, update: Callable[[nn.Module, Values], Any], v: Values) -> Any:
        """Return `update(self, v)`, the heads' output and the memory; show the attention implied, and the memory."""
        if not self.asked('pattern', 'state'):
            return update(self, v)
        y, pull, memory = nn.vjp(update, self, v, vjp_variables=False, has_aux=True)
        self.show('pattern', 'B N T S', lambda: implied_pattern(y, pull), NOTE)
        self.show('state', 'B', lambda: memory)
        return y, memory

    def heads_in_words(self, D: int) -> str:
        """Return N and H in words."""
        N, H, _ = self.sizes(D)
        return in_words(N, H)

    def refuse(self, context: LayerContext) -> None:
        """Raise a UserError if the context has a source or score terms."""
        name = Part(type(self)).name
        context.require_no_source(name)
        refuse_terms(name, context.terms)

    def sizes(self, D: int) -> tuple[int, int, int]:
        """Return N, H, and the width of the values, at width D.

        Raises:
            UserError: the sizes do not go together.
        """
        H = width_of_heads(D, self.heads, self.head_width)
        V = H if self.value_width is None else self.value_width
        return self.heads, H, V


class FixedState(FixedStateBase):
    """Base of mixers with a fixed-size memory, a short convolution, and a gate after the norm of the heads.

    Attributes: the attributes of FixedStateBase, and
        key_heads: number of query and key heads, each shared by equally many of the N heads; None for N.
        convolution: convolution over tokens of the concatenated queries, keys and values. The usual short convolution
            is `recurrent.mixer.convolution:Convolution`, depthwise, of 4 tokens. None for no convolution.
        gate: activation of a projection of x that multiplies the heads' outputs; None for no gate.
        gate_rank: rank of the gate's projection; None for one full matrix.
        output_norm: norm of all heads' outputs, concatenated, after the gate.
    """

    key_heads: Count | None = None
    convolution: Part[Mixer] | None = None
    gate: Part | None = None
    gate_rank: Count | None = None
    output_norm: Part[Norm] | None = None

    def update_state(
        self, x: Hidden, q: Queries, k: Queries, v: Array, context: LayerContext, state: Memory
    ) -> tuple[Array, Memory]:
        """Return each head's output [B T N V], and the new memory. Abstract; called in a compact method."""
        raise NotImplementedError

    def head_counts(self) -> tuple[int, int, int]:
        """Return the numbers of query, key and value heads per token.

        Raises:
            UserError: the key heads do not divide the heads.
        """
        key_heads = self.heads if self.key_heads is None else self.key_heads
        if self.heads % key_heads:
            name = Part(type(self)).name
            raise UserError(f'{name}: heads {self.heads} is not divisible by key_heads {self.key_heads}')
        return key_heads, key_heads, self.heads

    def init_state(self, x: Hidden, capacity: int) -> State:
        """Return the empty state, whose size does not depend on the capacity."""
        N, H, V = self.sizes(x.shape[-1])
        memory = self.empty_memory(x.shape[0], N, H, V)
        if self.convolution is None:
            return memory
        convolved = jnp.zeros((x.shape[0], 1, np.dot(self.head_counts(), (H, H, V))), x.dtype)
        return ConvolvedState(memory, self.convolution(parent=None).init_state(convolved, capacity))

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Mix whole sequences if there is no state, or a chunk that follows the tokens in the state."""
        self.refuse(context)
        (N, H, V), counts = self.sizes(x.shape[-1]), self.head_counts()
        q, k, v = (
            self.projected(name, 'D -> N H' if heads == N else 'D -> K H', x, (heads, width))
            for name, heads, width in zip(('query', 'key', 'value'), counts, (H, H, V), strict=True)
        )
        memory = self.empty_memory(x.shape[0], N, H, V) if state is None else state
        if self.convolution is not None:
            (q, k, v), convolved = self._convolve((q, k, v), context, train, state)
            memory = memory if state is None else state.memory
        q, k = (jnp.repeat(y, N // counts[0], axis=-2) for y in (q, k))
        named = {'query': q, 'key': k, 'value': v}
        q, k, v = (self.tap(name, 'B T N H', each, real=context.real) for name, each in named.items())
        updated = self.shown(lambda mixer, v: mixer.update_state(x, q, k, v, context, memory), v)
        require_result(self, 'update_state', updated, (jax.ShapeDtypeStruct((*x.shape[:2], N, V), x.dtype), memory))
        y, memory = updated
        y = self.normalised(y, context).astype(x.dtype)
        if self.gate is not None:
            y = y * self.gate(self.to_heads('gate', x, V, self.gate_rank))
        if self.output_norm is not None:
            y = self.side_by_side('output_norm', self.output_norm, y, context)
        y = self.to_output(y, x.shape[-1], context.real, train)
        return y, memory if self.convolution is None else ConvolvedState(memory, convolved)

    def _convolve(
        self, heads: tuple[Array, Array, Array], context: LayerContext, train: bool, state: ConvolvedState | None
    ) -> tuple[list[Array], State]:
        mixer = self.convolution(name='convolution')
        x = jnp.concatenate([rearrange(y, 'B T N H -> B T (N H)') for y in heads], axis=-1)
        x, after = mixer.mix(x, context, train, None if state is None else state.convolution)
        parts = jnp.split(x, np.cumsum([y.shape[-2] * y.shape[-1] for y in heads])[:-1], axis=-1)
        counts = (y.shape[-2] for y in heads)
        return [rearrange(y, 'B T (N H) -> B T N H', N=N) for y, N in zip(parts, counts, strict=True)], after
