# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent decoders with attention: decoding state and layers of cells."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, PyTree

from saccade.module import Module
from saccade.ops.recurrence import held, time_first
from saccade.ops.scoring import weighted_values
from saccade.recurrent.cell.base import Cell
from saccade.recurrent.decoder.attention_base import Attender, AttentionOutput, EncodedSource, over_source
from saccade.recurrent.decoder.layers import Layers
from saccade.recurrent.encoder import Encoded
from saccade.types import Count, LayerContext, Part, PRNGKey, Share

Inputs = Float[Array, 'B T E']
Decoded = tuple[Float[Array, 'B T D'], Float[Array, 'B T S'] | None, 'Writing']  # outputs, attention weights, state
Write = Callable[[Any, Any, Float[Array, 'B F'], LayerContext, PRNGKey | None], tuple[Any, PyTree]]


@struct.dataclass
class Writing:
    """State of a recurrent decoder between tokens; axis 0 of every leaf is the batch.

    Attributes:
        source: the encoded source; constant.
        cells: state of each layer.
        fed: output of the last token, an input of the next step (input feeding); None without input feeding.
    """

    source: PyTree
    cells: tuple[PyTree, ...]
    fed: Float[Array, 'B A'] | None = None


class AttentionDecoder(Module):
    """Base class of recurrent decoders with attention.

    Attributes: cell; layers; attention, over the source; dropout between the layers.
    """

    cell: Part[Cell]
    layers: Count
    attention: Part
    dropout: Share = 0.0

    def setup(self) -> None:
        """Create the layers of cells and the attention."""
        self.stack = Layers(self.cell, self.layers, self.dropout, name='layers')
        self.looking = self.attention(name='look')

    def start(self, batch: int) -> tuple[PyTree, ...]:
        """Return the state of each layer before the first token."""
        return self.stack.start(batch)

    def begin(self, encoded: Encoded, cells: tuple[PyTree, ...]) -> Writing:
        """Return the state before the first token, with the source encoded for the attention."""
        attender = self.attender(encoded.hidden.shape[-1])
        return Writing(attender.encode_source(encoded.hidden, encoded.segments), cells)

    def attender(self, width: int) -> Attender:
        """Return the attention of decoder states to a source of the given width."""
        return self.looking(self.stack.cells[-1].width, width)

    def key(self, train: bool) -> PRNGKey | None:
        """Return the PRNG key of sampling and dropout; None if not training."""
        return self.make_rng('dropout') if train and self.has_rng('dropout') else None

    def one_by_one(
        self, write: Write, carry: Any, u: Float[Array, 'B T F'], layer_context: LayerContext, keys: PRNGKey | None
    ) -> tuple[Any, PyTree]:
        """Run `write` token by token; return the carry, unchanged by padding, and the outputs of all tokens."""

        def body(decoder: Any, carry: Any, this: tuple[Array, ...]) -> tuple[Any, PyTree]:
            u, positions, segments, key = this
            new, made = write(decoder, carry, u, LayerContext(positions[:, None], segments[:, None]), key)
            return held(segments != 0, new, carry), made

        tokens = (time_first(u), time_first(layer_context.positions), time_first(layer_context.numbered), keys)
        carry, made = self.scan(body, carry, tokens)
        return carry, jax.tree.map(time_first, made)

    def keys(self, tokens: int, train: bool) -> PRNGKey | None:
        """Return a PRNG key for each token; None if not training."""
        key = self.key(train)
        return None if key is None else jax.random.split(key, tokens)

    def attend(
        self,
        attender: Attender,
        states: Float[Array, 'B T D'],
        layer_context: LayerContext,
        memory: EncodedSource,
        key: PRNGKey | None,
    ) -> AttentionOutput:
        """Attend with decoder states to the source; the weights over all source tokens and the context are taps."""
        output = attender(states, layer_context, memory, key)
        if self.asked('pattern'):
            weights = self.tap('pattern', 'B N T S', over_source(output, memory.segments.shape[1]))
            _, values = memory.heads()
            context = weighted_values(weights, values, values.dtype)[:, :, 0]
            output = output.replace(context=context, weights=weights[:, 0], first=None)
        return output.replace(context=self.tap('context', 'B T D', output.context))

    def reported(self, output: AttentionOutput, sources: int) -> Float[Array, 'B T S']:
        """Return the attention weights; sow the estimator's report in 'choices'."""
        weights = over_source(output, sources)
        if output.report and not self.is_initializing():
            self.sow('choices', 'attention', output.report)
        return weights[:, 0]


def joined(output: AttentionOutput) -> AttentionOutput:
    """Squeeze the outputs of single tokens, [B T 1 ...], to [B T ...]."""
    return jax.tree.map(lambda leaf: jnp.squeeze(leaf, 2), output)
