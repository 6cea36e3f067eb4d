# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent encoder-decoder: the encoder's last state initialises the decoder, which can attend to all states.

    h = encoder(E[source]);   s_0 = bridge(h);   s_t, y_t = decoder(s_(t-1), E[token], h);   logits = y_t E^T or y_t W

Sutskever et al. 2014, "Sequence to Sequence Learning with Neural Networks", https://arxiv.org/abs/1409.3215; with
attention Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473, and Luong et al. 2015,
https://arxiv.org/abs/1508.04025, by the decoder class. Training uses teacher forcing, and computations that do not
depend on earlier steps are outside the scan over the tokens. A row is one pair: segments only mark padding.
"""

from typing import Any

import flax.linen as nn
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.axes import parameter
from saccade.module import Module, context_of, on_device
from saccade.ops.vocabulary import OutputProjection
from saccade.types import (
    ArrayLike,
    Count,
    Hidden,
    LayerContext,
    Logits,
    Part,
    Share,
    Tokens,
    UserError,
)

__all__ = ['RecurrentSeq2Seq']

_NAME = 'model.recurrent_seq2seq:RecurrentSeq2Seq'

Sources = Int[Array, 'B S']
Weights = Float[Array, 'B T S'] | None  # of a decoder's attention; None for a decoder without attention


@struct.dataclass
class Seq2SeqState:
    """Decoding state of a recurrent encoder-decoder.

    Attributes: the decoder's state; the position of each row's next token; the source tokens, for a pointer.
    """

    decoder: Any
    position: Int[Array, 'B']
    source: Int[Array, 'B S'] | None = None


class RecurrentSeq2Seq(Module):
    """Recurrent encoder-decoder.

    Attributes:
        vocabulary: vocabulary size of the target (V).
        context_length: maximum length of the target, in tokens.
        source_context_length: maximum length of the source, in tokens.
        width: width of the embedded tokens (E).
        encoder: encoder of the source.
        bridge: maps the encoder's states to the decoder's initial state.
        decoder: decoder of the target.
        tied: whether the output projection is the transposed target embedding.
        source_vocabulary: vocabulary size of the source; None if both sides share a vocabulary and an embedding.
        dropout: dropout rate of the embedded tokens and of the input of the output projection.
        embedding_init: initialiser of the embeddings.
        head_init: initialiser of an untied output projection.
        pointer: copies source tokens by the attention weights, as `head.pointer_generator:PointerGenerator`; both sides
            then share a vocabulary. None for no copying.
    """

    vocabulary: Count
    context_length: Count
    source_context_length: Count
    width: Count
    encoder: Part
    bridge: Part
    decoder: Part
    tied: bool = True
    source_vocabulary: Count | None = None
    dropout: Share = 0.0
    embedding_init: Part = Part(nn.initializers.normal, (('stddev', 0.1),))
    head_init: Part = Part(nn.initializers.lecun_normal)
    pointer: Part | None = None

    @classmethod
    def at_lengths(cls, part: Part, source: int, target: int) -> Part:
        """Return the config of the same model with these maximum lengths, in tokens."""
        return part.replace(source_context_length=source, context_length=target)

    def setup(self) -> None:
        """Make the embeddings, the encoder, the bridge, the decoder and the output projection.

        Raises:
            UserError: there is a pointer, but the source has a vocabulary of its own.
        """
        if self.pointer is not None and self.source_vocabulary is not None:
            raise UserError(f'{_NAME}: pointer copies tokens of the source: set source_vocabulary to None')
        self.table = parameter(self, 'embedding', 'V D', self.embedding_init(), (self.vocabulary, self.width))
        self.source_table = self.table if self.source_vocabulary is None else self._source_table()
        self.reading, self.beginning = self.encoder(name='encoder'), self.bridge(name='bridge')
        self.writing = self.decoder(name='decoder')
        self.logits = None if self.tied else VocabularyProjection(self.vocabulary, self.head_init, name='head')
        self.pointing = None if self.pointer is None else self.pointer(name='pointer')
        self.drop = nn.Dropout(self.dropout)

    def __call__(
        self,
        source: Sources | ArrayLike,
        source_context: LayerContext,
        tokens: ArrayLike,
        context: LayerContext | None = None,
        train: bool = False,
    ) -> Logits:
        """Return the logits of the tokens. Without a context of these, positions are 0 to T-1, one document a row."""
        source, tokens = on_device(source), on_device(tokens)
        source_context, context = context_of(self, source, source_context), context_of(self, tokens, context)
        return self._logits(*self._whole(source, source_context, tokens, context, train), source)

    def output_projection(
        self, source: Sources, source_context: LayerContext, tokens: Tokens, context: LayerContext, train: bool
    ) -> OutputProjection:
        """Return the decoder's outputs and their projection to the vocabulary, instead of the logits.

        Raises:
            UserError: a sequence does not fit the context, or there is a pointer.
        """
        if self.pointer is not None:
            raise UserError(f'{_NAME}: a pointer needs whole logits: set task.vocabulary_chunk to None')
        return self._whole(source, source_context, tokens, context, train)[0]

    def encode(self, source: Sources, source_context: LayerContext, capacity: int) -> Seq2SeqState:
        """Encode the sources; return the initial decoding state. Its size does not depend on the capacity."""
        copied = None if self.pointer is None else source
        return Seq2SeqState(self._read(source, source_context, False), jnp.zeros(source.shape[0], jnp.int32), copied)

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: Seq2SeqState) -> tuple[Logits, Seq2SeqState]:
        """Run a chunk of target tokens; return its logits and the new state. Padding does not change a row's state."""
        count = jnp.cumsum(segments != 0, axis=-1)
        context = LayerContext(state.position[:, None] + jnp.maximum(count - 1, 0), segments)
        projection, weights, decoder = self._write(tokens, context, state.decoder, False)
        logits = self._logits(projection, weights, state.source)
        return logits, state.replace(decoder=decoder, position=state.position + count[:, -1])

    def _read(self, source: Sources, context: LayerContext, train: bool) -> Any:
        encoded = self.reading(self._embedded(source, self.source_table, train), context, train)
        return self.writing.begin(encoded, self.beginning(encoded, self.writing.start(source.shape[0])))

    def _whole(
        self, source: Sources, source_context: LayerContext, tokens: Tokens, context: LayerContext, train: bool
    ) -> tuple[OutputProjection, Weights]:
        for what, given, most in (
            ('source', source, self.source_context_length),
            ('sequence', tokens, self.context_length),
        ):
            if given.shape[1] > most:
                raise UserError(f'a {what} of {given.shape[1]} tokens does not fit the {what} context of {most}')
        return self._write(tokens, context, self._read(source, source_context, train), train)[:2]

    def _write(
        self, tokens: Tokens, context: LayerContext, state: Any, train: bool
    ) -> tuple[OutputProjection, Weights, Any]:
        y, weights, state = self.writing(self._embedded(tokens, self.table, train), context, state, train)
        return self._projection(self.drop(y, deterministic=not train)), weights, state

    def _logits(self, projection: OutputProjection, weights: Weights, source: Sources | None) -> Logits:
        return projection.logits() if self.pointing is None else self.pointing(projection, weights, source)

    def _projection(self, y: Float[Array, 'B T D']) -> OutputProjection:
        if self.logits is not None:
            return self.logits(y)
        if y.shape[-1] != self.width:
            raise UserError(f"{_NAME}: tied needs a decoder as wide as the embedding's {self.width}, not {y.shape[-1]}")
        return OutputProjection(y, self.table, tied=True)

    def _embedded(self, tokens: Int[Array, 'B _'], table: Float[Array, 'V E'], train: bool) -> Hidden:
        # Cast before the lookup, so that the gradient is summed over the occurrences of a token in the wider dtype.
        x = jnp.take(table.astype(jnp.float32), tokens, axis=0).astype(table.dtype)
        return self.drop(x, deterministic=not train)

    def _source_table(self) -> Float[Array, 'V E']:
        return parameter(self, 'source_embedding', 'V D', self.embedding_init(), (self.source_vocabulary, self.width))


class VocabularyProjection(nn.Module):
    """Output projection to the vocabulary. Attributes: vocabulary, V; kernel_init."""

    vocabulary: int
    kernel_init: Part

    @nn.compact
    def __call__(self, x: Float[Array, 'B T D']) -> OutputProjection:
        kernel = parameter(self, 'kernel', 'D -> V', self.kernel_init(), (x.shape[-1], self.vocabulary))
        return OutputProjection(x, kernel, tied=False)
