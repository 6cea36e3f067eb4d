# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Equinox: MultiheadAttention and its recurrent cells. Documents and padding are given as a mask."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from conformance.jax_layer import JaxLayer
from conformance.layer import Array, Layer, NotOffered, mask_of

TITLE = 'Equinox'
REQUIRES = ('equinox==0.13.8', 'jax==0.10.2')


class Attention(JaxLayer):
    """eqx.nn.MultiheadAttention, with rotary positions as its documentation shows, or none."""

    def __init__(self, causal: bool, rotary: bool = False) -> None:
        module = eqx.nn.MultiheadAttention(4, 16, key=jax.random.key(0))
        parameters, static = eqx.partition(module, eqx.is_inexact_array)
        embedding = eqx.nn.RotaryPositionalEmbedding(4)

        def rotate(q: jax.Array, k: jax.Array, v: jax.Array) -> tuple[jax.Array, ...]:
            return *(jax.vmap(embedding, in_axes=1, out_axes=1)(each) for each in (q, k)), v

        def forward(parameters: Any, x: jax.Array, segments: Any) -> jax.Array:
            layer = eqx.combine(parameters, static)
            whole = np.ones(x.shape[:2], np.int32) if segments is None else segments
            attend = functools.partial(layer, process_heads=rotate if rotary else None)
            return jax.vmap(lambda x, mask: attend(x, x, x, mask))(x, jnp.asarray(mask_of(whole, causal)))

        super().__init__(forward, parameters, causal)


class Recurrent(JaxLayer):
    """eqx.nn.GRUCell or LSTMCell in a scan; documents and padding are not its matter."""

    def __init__(self, kind: type) -> None:
        parameters, static = eqx.partition(kind(16, 16, key=jax.random.key(0)), eqx.is_inexact_array)
        self.pair = kind is eqx.nn.LSTMCell

        def along(parameters: Any, x: jax.Array, state: Any) -> tuple[Any, jax.Array]:
            cell = eqx.combine(parameters, static)

            def one(state: Any, token: jax.Array) -> tuple[Any, jax.Array]:
                state = cell(token, state)
                return state, state[0] if self.pair else state

            return jax.lax.scan(one, state, x)

        self.along = jax.vmap(along, in_axes=(None, 0, 0))
        super().__init__(lambda leaves, x, _: self.along(leaves, x, self._zeros(x))[1], parameters)

    def _zeros(self, x: jax.Array) -> Any:
        zeros = jnp.zeros((len(x), 16), x.dtype)
        return (zeros, zeros) if self.pair else zeros

    def given(self, segments: Array | None) -> None:
        if segments is not None:
            raise NotOffered('a cell sees one token')

    def init_state(self, batch: int, capacity: int) -> Any:
        return self._zeros(jnp.zeros((batch, 16)))

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        self.given(segments)
        state, y = self.along(self.parameters, jnp.asarray(x), state)
        return np.asarray(y), state


def layers() -> dict[str, Callable[[], Layer]]:
    """Attention and cells."""
    return {
        'MultiheadAttention, causal': functools.partial(Attention, True),
        'MultiheadAttention, both directions': functools.partial(Attention, False),
        'MultiheadAttention, rotary': functools.partial(Attention, True, rotary=True),
        'GRUCell': functools.partial(Recurrent, eqx.nn.GRUCell),
        'LSTMCell': functools.partial(Recurrent, eqx.nn.LSTMCell),
    }
