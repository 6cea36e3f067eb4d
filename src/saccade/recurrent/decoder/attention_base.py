# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of recurrent decoders, with the scores, masks and softmax of `ops`, as in Transformers.

An attention part is called with the widths of the decoder states and of the source, and returns an `Attender`: a
pytree of weights with pure methods, which a scan over the tokens can call. The source is encoded once; then one or
more states per row attend to it.
"""

from typing import Protocol, runtime_checkable

import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.ops.mask import SameSegment
from saccade.ops.project import project
from saccade.ops.scoring import Scoring
from saccade.types import LayerContext, PRNGKey, RowSoftmax, ScoreTerm


@struct.dataclass
class ScoreFunction:
    """Score function of a decoder state and a source state: a projection of each, their product, and score terms.

    Attributes:
        query, key: the projections; None for the identity.
        terms: score terms, applied to the products.
        scale: factor of the products; 0 to omit the products.
    """

    query: Float[Array, 'D A'] | None = None
    key: Float[Array, 'C A'] | None = None
    terms: tuple[ScoreTerm, ...] = ()
    scale: float = struct.field(pytree_node=False, default=1.0)

    def queries(self, states: Float[Array, 'B T D'], like: Array) -> Float[Array, 'B T 1 A']:
        """Return the queries of decoder states as one head, in the dtype of the keys."""
        states = states.astype(like.dtype)
        return (states if self.query is None else project(states, self.query))[:, :, None]


@struct.dataclass
class EncodedSource:
    """Encoded source: keys and values of the attention.

    Attributes:
        values: hidden states of the source.
        keys: keys; None if they are the values.
        segments: segments of the source tokens; 0 is padding.
    """

    values: Float[Array, 'B S C']
    keys: Float[Array, 'B S A'] | None
    segments: Int[Array, 'B S']

    def heads(self) -> tuple[Float[Array, 'B S 1 A'], Float[Array, 'B S 1 C']]:
        """Return keys and values as one head."""
        return (self.values if self.keys is None else self.keys)[:, :, None], self.values[:, :, None]


@struct.dataclass
class AttentionOutput:
    """Output of the attention to a source.

    Attributes:
        context: the weighted sum of the values.
        weights: attention weights of each query over its keys.
        first: source token of each query's first key; None if all tokens are keys.
        report: values per query for the task, by name.
    """

    context: Float[Array, 'B T C']
    weights: Float[Array, 'B T W']
    first: Int[Array, 'B T'] | None = None
    report: dict[str, Float[Array, 'B T']] = struct.field(default_factory=dict)


@runtime_checkable
class Attender(Protocol):
    """Attention of recurrent decoders, with its weights. States of segment 0, padding, do not attend."""

    def encode_source(self, hidden: Float[Array, 'B S C'], segments: Int[Array, 'B S']) -> EncodedSource:
        """Return the keys and values of the source, computed once for all decoding steps."""
        ...

    def __call__(
        self, states: Float[Array, 'B T D'], layer_context: LayerContext, memory: EncodedSource, key: PRNGKey | None
    ) -> AttentionOutput: ...


class AttenderBase:
    """Base class of attenders with a `score_function` and a `softmax`."""

    score_function: ScoreFunction
    softmax: RowSoftmax

    def encode_source(self, hidden: Float[Array, 'B S C'], segments: Int[Array, 'B S']) -> EncodedSource:
        """Return the hidden states as values, and their key projection by the score function as keys."""
        keys = None if self.score_function.key is None else project(hidden, self.score_function.key)
        return EncodedSource(hidden, keys, segments)

    def scoring(self, segments: Int[Array, 'B T'], memory: EncodedSource) -> Scoring:
        """Return score function, segment mask and softmax as one `Scoring`."""
        mask = SameSegment(segments, memory.segments)
        return Scoring(mask, self.score_function.terms, self.score_function.scale, softmax=self.softmax)


def over_source(output: AttentionOutput, sources: int) -> Float[Array, 'B 1 T S']:
    """Return the weights over all source tokens, zero outside a query's keys."""
    if output.first is None:
        return rearrange(output.weights, 'B T S -> B 1 T S')
    at = output.first[..., None] + jnp.arange(output.weights.shape[-1])
    hit = at[..., None] == jnp.arange(sources)
    return jnp.einsum('BTW,BTWS->BTS', output.weights, hit.astype(output.weights.dtype))[:, None]
