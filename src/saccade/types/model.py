# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocols of models and heads."""

from typing import Protocol, runtime_checkable

from flax import struct
from jaxtyping import Array, Float, Int

from saccade.types.arrays import Hidden, Logits, State, Tokens
from saccade.types.context import Scope
from saccade.types.part import Part


@runtime_checkable
class Model(Protocol):
    """What is trained. How it is called is between it and the task."""

    vocabulary: int
    context: int


@runtime_checkable
class OfOneSequence(Model, Protocol):
    """A model of one sequence of tokens, whose length is a matter of one number."""

    @classmethod
    def at_length(cls, part: Part, length: int) -> Part:
        """Return how the same model is made for sequences of up to `length` tokens."""
        ...


@struct.dataclass
class Reading:
    """What a head may know beside the hidden states that it reads.

    Attributes:
        scope: of the tokens.
        table: the embedding, for a head that is tied to it.
        at: the tokens to predict, by their place in the row; None for all.
    """

    scope: Scope
    table: Float[Array, 'V E']
    at: Int[Array, 'B M'] | None = None


@runtime_checkable
class Head(Protocol):
    """Makes predictions of what an encoder made of tokens: logits, in the shapes that its task expects."""

    def __call__(self, x: Hidden, reading: Reading, train: bool) -> Array: ...


@runtime_checkable
class EncoderModel(Model, Protocol):
    """Tokens in; what each head makes of them out, by the head's name."""

    def __call__(
        self, tokens: Tokens, scope: Scope, train: bool, at: Int[Array, 'B M'] | None = None
    ) -> dict[str, Array]: ...


@runtime_checkable
class LanguageModel(Model, Protocol):
    """Tokens in, logits out; whole sequences by `__call__`, chunk by chunk by `init_state` and `step`."""

    def __call__(self, tokens: Tokens, scope: Scope, train: bool) -> Logits: ...

    def init_state(self, tokens: Tokens, capacity: int) -> State:
        """Return the state for decoding `capacity` tokens a row; axis 0 of each leaf is B."""
        ...

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: State) -> tuple[Logits, State]:
        """Run a chunk of tokens through the model; return its logits and the state after it. Segment 0 is padding."""
        ...


@runtime_checkable
class Seq2Seq(Model, Protocol):
    """A sequence to read and what was written of another in; logits of what is written next out.

    `context` bounds what is written, and `source_context` what is read, in tokens.
    """

    source_context: int

    def __call__(
        self, source: Int[Array, 'B S'], source_scope: Scope, tokens: Tokens, scope: Scope, train: bool
    ) -> Logits: ...

    def encode(self, source: Int[Array, 'B S'], source_scope: Scope, capacity: int) -> State:
        """Encode the sources, once: the state before the first of `capacity` tokens a row; axis 0 of each leaf is B."""
        ...

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: State) -> tuple[Logits, State]:
        """Run a chunk of target tokens through the decoder; return its logits and the state after it."""
        ...
