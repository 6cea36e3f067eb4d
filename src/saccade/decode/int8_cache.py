# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Decoding with KV caches in int8, for any language model and any way to decode."""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Array, Int

from saccade.attention.cache import in_int8
from saccade.types import LanguageModel, LayerContext, Logits, Params, State, Tokens

_MAKE_STATE = ('init_state', 'init_pages')


@dataclass(frozen=True)
class Int8Cache:
    """Language model whose decoding state starts with its KV caches in int8; all else is the model's own.

    Raises:
        UserError: where a state is made, if the model has no KV cache that can be in int8.
    """

    model: LanguageModel

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def apply(self, variables: Params, *arguments: Any, method: str, **options: Any) -> Any:
        """Run a method of the model, as Linen's `apply`."""
        found = self.model.apply(variables, *arguments, method=method, **options)
        return in_int8(found) if method in _MAKE_STATE else found

    # What the protocol of a language model asks of a class.

    @property
    def vocabulary(self) -> int | None:
        """Number of tokens."""
        return self.model.vocabulary

    @property
    def context_length(self) -> int:
        """Maximum number of tokens of a text."""
        return self.model.context_length

    def __call__(self, tokens: Tokens, context: LayerContext, train: bool) -> Logits:
        """Return the model's logits of whole sequences."""
        return self.model(tokens, context, train)

    def init_state(self, tokens: Tokens, capacity: int) -> State:
        """Return the model's state, with its KV caches in int8."""
        return in_int8(self.model.init_state(tokens, capacity))

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: State) -> tuple[Logits, State]:
        """Run a chunk of tokens through the model."""
        return self.model.step(tokens, segments, state)
