# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The smallest model that reads and writes: its state is a vector that looks at the source at every step."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct

from saccade.module import Module
from saccade.types import LayerContext


@struct.dataclass
class Reading:
    """Attributes: what was read, where there is something, and the vector after the newest token."""

    read: Any
    there: Any
    vector: Any


class Toy(Module):
    """It looks at each row's source by dot products, and shows the weights of these."""

    vocabulary: int = 12
    context_length: int = 6
    source_context_length: int = 7
    width: int = 8
    scale: float = 1.0

    def setup(self):
        init = nn.initializers.normal(self.scale)
        self.embedding = self.param('embedding', init, (self.vocabulary, self.width))
        self.mix = self.param('mix', init, (self.width, self.width))
        self.head = self.param('head', init, (self.width, self.vocabulary))

    def __call__(self, source, source_context, tokens, context, train=False):
        state = self.encode(source, source_context, tokens.shape[1])
        logits, weights = [], []
        for t in range(tokens.shape[1]):
            state, looked = self._advance(tokens[:, t], context.segments[:, t], state)
            logits.append(state.vector @ self.head)
            weights.append(looked)
        self.show('pattern', 'B N T S', lambda: jnp.stack(weights, axis=1)[:, None])
        return jnp.stack(logits, axis=1)

    def encode(self, source, source_context: LayerContext, capacity):
        read = self.embedding[source] + 0.1 * source_context.positions[..., None]
        return Reading(read, source_context.segments != 0, jnp.zeros((source.shape[0], self.width)))

    def step(self, tokens, segments, state):
        logits = []
        for t in range(tokens.shape[1]):
            state, _ = self._advance(tokens[:, t], segments[:, t], state)
            logits.append(state.vector @ self.head)
        return jnp.stack(logits, axis=1), state

    def _advance(self, token, segment, state):
        asked = state.vector + self.embedding[token]
        scores = jnp.where(state.there, jnp.einsum('BD,BSD->BS', asked, state.read), -jnp.inf)
        weights = jnp.where(state.there, jax.nn.softmax(scores, axis=-1), 0.0)
        found = jnp.einsum('BS,BSD->BD', weights, state.read)
        new = jnp.tanh(asked @ self.mix + found)
        return state.replace(vector=jnp.where(segment[:, None] != 0, new, state.vector)), weights


def made(**changes):
    """A model and its parameters."""
    model = Toy(**changes)
    S, T = model.source_context_length, model.context_length
    source, tokens = jnp.ones((1, S), int), jnp.ones((1, T), int)
    contexts = (
        LayerContext(jnp.arange(S)[None], jnp.ones((1, S), int)),
        LayerContext(jnp.arange(T)[None], jnp.ones((1, T), int)),
    )
    return model, model.init(jax.random.key(0), source, contexts[0], tokens, contexts[1], False)['params']
