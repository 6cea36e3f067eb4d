# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Decoder-only language model: embed, add positions, mix L times, project to the vocabulary.

    x = E[tokens] + positions;  x = block_l(x), l = 1..L;  logits = norm(x) E^T   (or norm(x) W)

Radford et al. 2019, "Language Models are Unsupervised Multitask Learners" (GPT-2). The same class is Llama
(Touvron et al. 2023, https://arxiv.org/abs/2302.13971) with other parts. Masks that let a token attend to later tokens
raise an error. Tied weights: Press, Wolf 2017, https://arxiv.org/abs/1608.05859. An embedding of another width has a
projection after it, and another before the output projection (OPT-350m: Zhang et al. 2022,
https://arxiv.org/abs/2205.01068).
"""

import flax.linen as nn
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.axes import parameter
from saccade.gain import Gain
from saccade.model.base import TransformerBase
from saccade.module import context_of, on_device
from saccade.ops.causality import require_causal
from saccade.ops.project import project
from saccade.ops.vocabulary import OutputProjection
from saccade.types import (
    ArrayLike,
    Count,
    Hidden,
    LayerContext,
    Logits,
    Norm,
    Pages,
    Part,
    Positive,
    Source,
    State,
    Table,
    Tokens,
)

__all__ = ['Decoder']


@struct.dataclass
class DecoderState:
    """Decoding state of a decoder.

    Attributes:
        layers: state of each layer.
        position: position of each row's next token, in tokens.
        source: positions and segments of the source of cross-attention; None without a source.
    """

    layers: tuple[State, ...]
    position: Int[Array, 'B']
    source: Source | None = None


class Decoder(TransformerBase):
    """Decoder-only language model. Every part must be causal; others raise an error.

    Attributes:
        vocabulary: number of logits (V), at least the tokenizer's size.
        tied: whether the output projection is the transposed embedding.
        embedding_width: width of embeddings (E), also of the input of the output projection; None for D.
        embedding_norm: norm of the embedded tokens, before the positions (BLOOM); None for no norm.
        position_norm: norm of the embedded tokens with positions (BART's `layernorm_embedding`); None for no norm.
        logit_scale: factor of the logits, before the cap; 1 / m in muP (`train.mup`).
        logit_cap: keeps logits within (-cap, cap), as cap tanh(logits / cap) (Gemma 2, section 2); None for no bound.
        logit_gain: trained factor of the logit of each token, before the bias (nGPT, section 2.1); None for none.
        head_bias: whether the output projection has a bias.
        head_init: initialiser of an untied output projection.
        output: replacement of the softmax over the vocabulary, as `head.mixture_of_softmaxes:MixtureOfSoftmaxes`; None
            for the softmax.
    """

    vocabulary: Count
    tied: bool = True
    embedding_width: Count | None = None
    embedding_norm: Part[Norm] | None = None
    position_norm: Part[Norm] | None = None
    logit_scale: Positive = 1.0
    logit_cap: Positive | None = None
    logit_gain: Part[Gain] | None = None
    head_bias: bool = False
    head_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))
    output: Part | None = None

    def __call__(
        self, tokens: ArrayLike, context: LayerContext | None = None, train: bool = False, table: Table | None = None
    ) -> Logits:
        """Return the logits. `table` is the embedding of another model, if shared.

        Without a context, positions are 0 to T-1 and every row is one document.
        """
        tokens = on_device(tokens)
        context = context_of(self, tokens, context)
        return self.output_projection(tokens, context, train, table).logits()

    def output_projection(
        self, tokens: Tokens, context: LayerContext, train: bool, table: Table | None = None
    ) -> OutputProjection:
        """Return the last hidden states and their projection to the vocabulary, instead of the logits."""
        return self.forward(tokens, context, train, None, table)[0]

    def init_state(self, tokens: Tokens, capacity: int) -> DecoderState:
        """Return the state for `capacity` tokens per row, including padding. `context_length` is not a limit."""
        x, position = self._first(tokens)
        return DecoderState(self._stack(parent=None).init_state(x, capacity), position)

    def init_pages(self, tokens: Tokens, pages: Pages) -> DecoderState:
        """Return the state for decoding with a pool of pages, which `decode.paged` shares between rows."""
        x, position = self._first(tokens)
        return DecoderState(self._stack(parent=None).init_pages(x, pages), position)

    def _first(self, tokens: Tokens) -> tuple[Float[Array, 'B 1 D'], Int[Array, 'B']]:
        """Return hidden states in the shape and dtype of each row's first token, and its position."""
        B = tokens.shape[0]
        return jnp.zeros((B, 1, self.width), self.get_variable('params', 'embedding').dtype), jnp.zeros(B, jnp.int32)

    def init_source_state(self, source: Source, capacity: int) -> DecoderState:
        """Return the state to decode with cross-attention: keys and values of the source, without its hidden states."""
        B = source.positions.shape[0]
        x = jnp.zeros((B, 1, self.width), source.hidden.dtype)
        params = {'params': self.get_variable('params', 'layers')}
        layers = self._stack(parent=None).apply(params, x, capacity, source, method='init_state')
        return DecoderState(layers, jnp.zeros(B, jnp.int32), source.replace(hidden=None))

    def step(
        self,
        tokens: Tokens,
        segments: Int[Array, 'B T'],
        state: DecoderState,
        table: Table | None = None,
        prefix: Int[Array, 'B'] | None = None,
    ) -> tuple[Logits, DecoderState]:
        """Run a chunk of tokens; return its logits and the new state. Padding does not advance the position.

        Args:
            prefix: length of each row's prefix, as in `LayerContext`; the chunk contains the whole prefix.
        """
        count = jnp.cumsum(segments != 0, axis=-1)
        positions = state.position[:, None] + jnp.maximum(count - 1, 0)
        context = LayerContext(positions, segments, state.source, prefix=prefix)
        projection, layers = self.forward(tokens, context, False, state.layers, table)
        return projection.logits(), state.replace(layers=layers, position=state.position + count[:, -1])

    @nn.compact
    def forward(
        self,
        tokens: Tokens,
        context: LayerContext,
        train: bool,
        state: tuple[State, ...] | None,
        table: Table | None = None,
    ) -> tuple[OutputProjection, tuple[State, ...] | None]:
        """Run whole sequences, if the state is None, or a chunk of tokens that follows the tokens in the state.

        Returns:
            The last hidden states with their projection to the vocabulary, and the state of each layer.
        """
        x, context, table = self._inputs(tokens, context, train, table)
        x, state = self._contextual(x, context, train, state)
        return self._projection(self.logit_scale * x, table), state

    def _inputs(
        self, tokens: Tokens, context: LayerContext, train: bool, table: Table | None
    ) -> tuple[Hidden, LayerContext, Table]:
        """Return the input of the first layer, the context, and the embedding of the vocabulary."""
        self._refuse()
        require_causal('model.decoder:Decoder', *self.blocks)
        width = self.embedding_width or self.width
        table = self._table(width) if table is None else table
        x, context = self._embedded(tokens, context, width, table)
        if self.embedding_width is not None:
            x = self._projected('embedding_output', x, self.width)
        if self.embedding_norm is not None:
            x = self.embedding_norm(name='embedding_norm')(x, context.real)
        x = self.position(name='position')(x, context.positions)
        if self.position_norm is not None:
            x = self.position_norm(name='position_norm')(x, context.real)
        return nn.Dropout(self.dropout)(x, deterministic=not train), context, table

    def _projection(self, x: Hidden, table: Table) -> OutputProjection:
        bias, kernel = None, table
        if self.embedding_width is not None:
            x = self._projected('head_input', x, self.embedding_width)
        if not self.tied:
            kernel = parameter(self, 'head', 'D -> V', self.head_init(), (x.shape[-1], self.vocabulary))
        if self.logit_gain is not None:
            gain = self.logit_gain()(self, 'logit_gain', 'V', (self.vocabulary,), x.shape[-1])
            kernel = kernel * (gain[:, None] if self.tied else gain)
        if self.head_bias:
            bias = parameter(self, 'head_bias', 'V', nn.initializers.zeros, (self.vocabulary,))
        projection = OutputProjection(x, kernel, self.tied, bias, self.logit_cap)
        return projection if self.output is None else self.output(name='output_mixture')(projection)

    def _projected(self, name: str, x: Float[Array, 'B T _'], width: int) -> Float[Array, 'B T _']:
        return project(x, parameter(self, name, 'D -> D', self.embedding_init(), (x.shape[-1], width)))
