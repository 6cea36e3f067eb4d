# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The adapter: a layer of any library, called with NumPy arrays."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray


class NotOffered(Exception):  # noqa: N818  # an answer, not a fault
    """The library does not offer what a contract asks for; the message is the reason, in one line."""


@dataclass(frozen=True)
class Weights:
    """Attention weights that a layer reports, with the values that it mixes.

    Attributes:
        weights: [B N T S], float32.
        values: [B N S H], after any expansion of key/value heads.
        mixed: [B N T H], output of the heads before the output projection.
        least, most: bounds of the sum of a row of weights.
    """

    weights: Array
    values: Array
    mixed: Array
    least: float = 1.0
    most: float = 1.0


class Layer:
    """A layer under test, from tokens [B T D] to tokens [B T D], with random parameters drawn once.

    An adapter overrides `call` and what the library offers of the rest. Segments [B T] are int: 0 is padding, and
    the tokens of a document share a positive number. An adapter that cannot serve these segments raises `NotOffered`.

    Attributes:
        causal: an output does not depend on later tokens.
        continuous: small changes of the input change the output little; false where a choice jumps, as the k highest.
        width: model width (D).
    """

    causal: bool = True
    continuous: bool = True
    width: int = 16

    def call(self, x: Array, segments: Array | None = None) -> Array:
        """Map a batch of whole sequences; without segments each row is one document."""
        raise NotImplementedError

    def gradients(self, x: Array, direction: Array, segments: Array | None = None) -> tuple[Array, dict[str, Array]]:
        """Return the gradients of (y * direction).sum() by the tokens, and by each parameter."""
        raise NotOffered('no gradients')

    def alone(self, x: Array) -> Array:
        """Map one document in a row of its own; an adapter that compiles a program for each length may pad it."""
        return self.call(x)

    def gradients_alone(self, x: Array, direction: Array) -> tuple[Array, dict[str, Array]]:
        """Gradients of one document in a row of its own."""
        return self.gradients(x, direction)

    def init_state(self, batch: int, capacity: int) -> Any:
        """Return the decoding state before the first token, for up to `capacity` tokens."""
        raise NotOffered('no decoding state')

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        """Map the next chunk of tokens; return the outputs and the next state."""
        raise NotOffered('no decoding state')

    def in_bfloat16(self) -> tuple['Layer', 'Layer']:
        """Return the layer in bfloat16, its outputs converted to float32; and in float32, with the same parameters."""
        raise NotOffered('no bfloat16')

    def with_chunk(self, size: int) -> 'Layer':
        """Return the same layer computed in chunks of another size."""
        raise NotOffered('no chunk size to choose')

    def kernels(self) -> dict[str, 'Layer']:
        """Return the same layer with each of the library's other implementations, by name."""
        raise NotOffered('one implementation')

    def weights(self, x: Array) -> Weights:
        """Return the attention weights on whole sequences."""
        raise NotOffered('no attention weights')


def spans(segments: Array) -> Iterator[tuple[int, slice]]:
    """Yield each document as its row and its places."""
    for row, numbers in enumerate(segments):
        for number in np.unique(numbers[numbers != 0]):
            (places,) = np.nonzero(numbers == number)
            yield row, slice(int(places[0]), int(places[-1]) + 1)


def positions_of(segments: Array) -> Array:
    """Place of each token within its document [B T]; 0 at padding."""
    same = (segments[:, :, None] == segments[:, None, :]) & np.tri(segments.shape[1], k=-1, dtype=bool)
    return same.sum(axis=-1) * (segments != 0)


def mask_of(segments: Array, causal: bool) -> Array:
    """Boolean mask [B T S], True where a token may attend: within its document, no padding."""
    mask = (segments[:, :, None] == segments[:, None, :]) & (segments[:, None, :] != 0)
    return mask & np.tri(segments.shape[1], dtype=bool) if causal else mask


def refuse_documents(segments: Array | None, reason: str = 'no argument for documents in a row') -> None:
    """Raise `NotOffered` where a row has more than one document."""
    if segments is not None and segments.max(initial=0) > 1:
        raise NotOffered(reason)


def refuse_padding(segments: Array | None, reason: str = 'no argument for padding') -> None:
    """Raise `NotOffered` where a row has padding."""
    if segments is not None and (segments == 0).any():
        raise NotOffered(reason)
