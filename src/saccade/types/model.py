# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of models and heads."""

from typing import Protocol, runtime_checkable

from flax import struct
from jaxtyping import Array, Float, Int

from saccade.types.arrays import Hidden, Inputs, Logits, State, Table, Tokens
from saccade.types.context import LayerContext
from saccade.types.part import Part


@runtime_checkable
class Model(Protocol):
    """A model to train. Each task defines how it calls its models.

    Attributes: vocabulary, V of the tokens that it embeds or predicts, None for none; context_length, the maximum
        sequence length.
    """

    vocabulary: int | None
    context_length: int


@runtime_checkable
class OfOneSequence(Model, Protocol):
    """A model of one sequence of tokens, with one maximum length."""

    @classmethod
    def at_length(cls, part: Part, length: int) -> Part:
        """Return the config of the same model for sequences of up to `length` tokens."""
        ...


@runtime_checkable
class OfTwoSequences(Model, Protocol):
    """A model of a source and a target, each with its own maximum length. Attributes: source_context_length."""

    source_context_length: int

    @classmethod
    def at_lengths(cls, part: Part, source: int, target: int) -> Part:
        """Return the config of the same model with these maximum lengths, in tokens."""
        ...


@struct.dataclass
class Reading:
    """Input of an output head besides the hidden states.

    Attributes:
        context: layer context of the tokens.
        table: token embedding, for a head with tied weights; None for a model without a vocabulary.
        at: places in the row of the tokens to predict; None for all.
    """

    context: LayerContext
    table: Table | None
    at: Int[Array, 'B M'] | None = None


@runtime_checkable
class Head(Protocol):
    """Output head: maps the encoder's hidden states to logits, in the shapes that its task expects."""

    def __call__(self, x: Hidden, reading: Reading, train: bool) -> Array: ...


@runtime_checkable
class EncoderModel(Model, Protocol):
    """Encoder: maps inputs to the output of each head, by the head's name.

    `reads` is the name of the inputs in a batch. If it names several arrays, the inputs are a tuple of them.
    """

    reads: str | tuple[str, ...]

    def __call__(
        self, inputs: Inputs, context: LayerContext, train: bool, at: Int[Array, 'B M'] | None = None
    ) -> dict[str, Array]: ...


@runtime_checkable
class LanguageModel(Model, Protocol):
    """Language model: maps tokens to logits; whole sequences by `__call__`, chunks by `init_state` and `step`."""

    def __call__(self, tokens: Tokens, context: LayerContext, train: bool) -> Logits: ...

    def init_state(self, tokens: Tokens, capacity: int) -> State:
        """Return the state for decoding `capacity` tokens per row; axis 0 of each leaf is B."""
        ...

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: State) -> tuple[Logits, State]:
        """Run a chunk of tokens through the model; return its logits and the new state. Segment 0 is padding."""
        ...


@runtime_checkable
class Seq2Seq(Model, Protocol):
    """Sequence-to-sequence model: maps a source and a target prefix to logits of the next target tokens.

    `context_length` is the maximum length of the target, `source_context_length` that of the source, in tokens.
    """

    source_context_length: int

    def __call__(
        self,
        source: Int[Array, 'B S'],
        source_context: LayerContext,
        tokens: Tokens,
        context: LayerContext,
        train: bool,
    ) -> Logits: ...

    def encode(self, source: Int[Array, 'B S'], source_context: LayerContext, capacity: int) -> State:
        """Encode the sources; return the state for decoding `capacity` tokens per row; axis 0 of each leaf is B."""
        ...

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: State) -> tuple[Logits, State]:
        """Run a chunk of target tokens through the decoder; return its logits and the new state."""
        ...


@struct.dataclass
class Compared:
    """Embeddings of images and texts, of norm 1, with the scale and bias of their logits.

    Attributes:
        image, text: embeddings of each row.
        scale, bias: a logit is scale times the product of two embeddings, plus bias.
    """

    image: Float[Array, 'B E']
    text: Float[Array, 'B E']
    scale: Float[Array, '']
    bias: Float[Array, '']


@runtime_checkable
class ImageTextModel(Model, Protocol):
    """Model that compares images with texts by embeddings, computed independently of each other."""

    def __call__(self, images: Array, tokens: Tokens, context: LayerContext, train: bool) -> Compared: ...

    def encode_image(self, images: Array) -> Float[Array, 'B E']:
        """Return the embeddings of images, of norm 1."""
        ...

    def encode_text(self, tokens: Tokens, context: LayerContext) -> Float[Array, 'B E']:
        """Return the embeddings of texts, of norm 1."""
        ...

    def logit_line(self) -> tuple[Float[Array, ''], Float[Array, '']]:
        """Return the scale and the bias of the logits."""
        ...
