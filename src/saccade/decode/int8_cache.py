# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Decoding with KV caches in int8, for any model and any way to decode."""

from dataclasses import dataclass
from typing import Any

from saccade.attention.cache import in_int8
from saccade.types import Params

_MAKE_STATE = ('init_state', 'init_pages')


@dataclass(frozen=True)
class Int8Cache:
    """Model whose decoding state starts with its KV caches in int8; all else is the model's own.

    Raises:
        UserError: where a state is made, if the model has no KV cache that can be in int8.
    """

    model: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def apply(self, variables: Params, *arguments: Any, method: str, **options: Any) -> Any:
        """Run a method of the model, as Linen's `apply`."""
        found = self.model.apply(variables, *arguments, method=method, **options)
        return in_int8(found) if method in _MAKE_STATE else found
