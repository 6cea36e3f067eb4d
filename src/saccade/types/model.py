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
    """A model to train. Each task says how it calls its models.

    Attributes: vocabulary, V of the tokens that it embeds or predicts, None for none; context_length, the longest
        sequence in places.
    """

    vocabulary: int | None
    context_length: int


@runtime_checkable
class OfOneSequence(Model, Protocol):
    """A model of one sequence of tokens, whose maximum length is one number."""

    @classmethod
    def at_length(cls, part: Part, length: int) -> Part:
        """Return the part that makes the same model for sequences of up to `length` tokens."""
        ...


@struct.dataclass
class Reading:
    """Input of an output head besides the hidden states.

    Attributes:
        context: of the tokens.
        table: the token embedding, for a head with tied weights; None where the model has no vocabulary.
        at: the tokens to predict, by their place in the row; None for all.
    """

    context: LayerContext
    table: Table | None
    at: Int[Array, 'B M'] | None = None


@runtime_checkable
class Head(Protocol):
    """Output head: logits from the encoder's hidden states, in the shapes that its task expects."""

    def __call__(self, x: Hidden, reading: Reading, train: bool) -> Array: ...


@runtime_checkable
class EncoderModel(Model, Protocol):
    """Encoder: inputs in, the output of each head out, by the head's name.

    `reads` names the inputs in a batch. Where it names several arrays, the inputs are a tuple of them.
    """

    reads: str | tuple[str, ...]

    def __call__(
        self, inputs: Inputs, context: LayerContext, train: bool, at: Int[Array, 'B M'] | None = None
    ) -> dict[str, Array]: ...


@runtime_checkable
class LanguageModel(Model, Protocol):
    """Language model: tokens in, logits out; whole sequences by `__call__`, chunks by `init_state` and `step`."""

    def __call__(self, tokens: Tokens, context: LayerContext, train: bool) -> Logits: ...

    def init_state(self, tokens: Tokens, capacity: int) -> State:
        """Return the state for decoding `capacity` tokens a row; axis 0 of each leaf is B."""
        ...

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: State) -> tuple[Logits, State]:
        """Run a chunk of tokens through the model; return its logits and the state after it. Segment 0 is padding."""
        ...


@runtime_checkable
class Seq2Seq(Model, Protocol):
    """Sequence-to-sequence model: a source and the target so far in, logits of the next target tokens out.

    `context_length` bounds the target, and `source_context_length` the source, in tokens.
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
        """Encode the sources, once: the state before the first of `capacity` tokens a row; axis 0 of each leaf is B."""
        ...

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: State) -> tuple[Logits, State]:
        """Run a chunk of target tokens through the decoder; return its logits and the state after it."""
        ...


@struct.dataclass
class Compared:
    """Vectors of images and of texts of norm 1, and how their products become logits.

    Attributes:
        image, text: of each row.
        scale, bias: the logit of two is scale times their product, plus bias.
    """

    image: Float[Array, 'B E']
    text: Float[Array, 'B E']
    scale: Float[Array, '']
    bias: Float[Array, '']


@runtime_checkable
class ImageTextModel(Model, Protocol):
    """Model that compares images with texts by vectors of their own, each read without the other."""

    def __call__(self, images: Array, tokens: Tokens, context: LayerContext, train: bool) -> Compared: ...

    def encode_image(self, images: Array) -> Float[Array, 'B E']:
        """Return the vectors of images, of norm 1."""
        ...

    def encode_text(self, tokens: Tokens, context: LayerContext) -> Float[Array, 'B E']:
        """Return the vectors of texts, of norm 1."""
        ...

    def logit_line(self) -> tuple[Float[Array, ''], Float[Array, '']]:
        """Return the factor of the products and what is added, which make logits of them."""
        ...
