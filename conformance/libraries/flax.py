# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Flax: attention and RNNs of Linen and NNX, and jax.nn.dot_product_attention. Documents and padding are masks."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen, nnx

from conformance.jax_layer import JaxLayer
from conformance.layer import Array, Layer, NotOffered, mask_of, refuse_documents

TITLE = 'Flax'
REQUIRES = ('flax==0.12.8', 'jax==0.10.2')


def _mask(x: jax.Array, segments: Any, causal: bool) -> jax.Array | None:
    whole = np.ones(x.shape[:2], np.int32) if segments is None else segments
    return mask_of(whole, causal)[:, None] if causal or segments is not None else None


class Linen(JaxLayer):
    """linen.MultiHeadDotProductAttention."""

    def __init__(self, causal: bool) -> None:
        self.module = linen.MultiHeadDotProductAttention(num_heads=4, deterministic=True)
        variables = self.module.init(jax.random.key(0), jnp.zeros((1, 2, 16)))
        super().__init__(
            lambda variables, x, segments: self.module.apply(variables, x, mask=_mask(x, segments, causal)),
            variables,
            causal,
        )

    def init_state(self, batch: int, capacity: int) -> Any:
        if not self.causal:
            raise NotOffered('both directions')
        decoder = self.module.clone(decode=True)
        return decoder, decoder.init(jax.random.key(0), jnp.zeros((batch, capacity, 16)))['cache']

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        if segments is not None or x.shape[1] > 1:
            raise NotOffered('its decode mode takes one token, without masks of its own')
        decoder, cache = state
        y, changed = decoder.apply({**self.parameters, 'cache': cache}, jnp.asarray(x), mutable=['cache'])
        return np.asarray(y), (decoder, changed['cache'])


class NNX(JaxLayer):
    """nnx.MultiHeadAttention."""

    def __init__(self, causal: bool) -> None:
        module = nnx.MultiHeadAttention(4, 16, decode=False, deterministic=True, rngs=nnx.Rngs(0))
        self.graph, parameters, self.rest = nnx.split(module, nnx.Param, ...)

        def forward(parameters: Any, x: jax.Array, segments: Any) -> jax.Array:
            return nnx.merge(self.graph, parameters, self.rest)(x, mask=_mask(x, segments, causal))

        super().__init__(forward, parameters, causal)

    def init_state(self, batch: int, capacity: int) -> Any:
        if not self.causal:
            raise NotOffered('both directions')
        module = nnx.merge(self.graph, self.parameters, self.rest)
        module.init_cache((batch, capacity, 16))
        return module

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        if segments is not None or x.shape[1] > 1:
            raise NotOffered('its decode mode takes one token, without masks of its own')
        return np.asarray(state(jnp.asarray(x), decode=True)), state


class Function(JaxLayer):
    """jax.nn.dot_product_attention between projections."""

    def __init__(self, causal: bool, kv_heads: int = 4, **options: Any) -> None:
        draw = np.random.default_rng(1)
        shapes = {'query': (16, 4, 4), 'key': (16, kv_heads, 4), 'value': (16, kv_heads, 4), 'output': (4, 4, 16)}
        parameters = {name: jnp.asarray(0.4 * draw.normal(size=shape), jnp.float32) for name, shape in shapes.items()}

        def forward(leaves: Any, x: jax.Array, segments: Any) -> jax.Array:
            q, k, v = (jnp.einsum('btd,dnh->btnh', x, leaves[name]) for name in ('query', 'key', 'value'))
            mask = None if segments is None else mask_of(segments, False)[:, None]
            y = jax.nn.dot_product_attention(q, k, v, mask=mask, is_causal=causal, implementation='xla', **options)
            return jnp.einsum('btnh,nhd->btd', y, leaves['output'])

        super().__init__(forward, parameters, causal)


class Recurrent(JaxLayer):
    """An RNN of a Linen cell, with padding on the right as `seq_lengths`."""

    def __init__(self, cell: linen.RNNCellBase, both: bool = False) -> None:
        one = linen.RNN(cell)
        self.module = linen.Bidirectional(one, linen.RNN(cell.clone())) if both else one
        variables = self.module.init(jax.random.key(0), jnp.zeros((1, 2, 16)))

        def forward(variables: Any, x: jax.Array, lengths: Array | None) -> jax.Array:
            y = self.module.apply(variables, x, seq_lengths=lengths)
            return y[..., :16] + y[..., 16:] if both else y

        super().__init__(forward, variables, causal=not both)

    def given(self, segments: Array | None) -> Array | None:
        refuse_documents(segments)
        if segments is not None and (np.diff(segments, axis=1) > 0).any():
            raise NotOffered('seq_lengths are of sequences padded on the right')
        return None if segments is None else (segments != 0).sum(axis=1)

    def init_state(self, batch: int, capacity: int) -> Any:
        if not self.causal:
            raise NotOffered('both directions')
        return None

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        if segments is not None:
            raise NotOffered('a carry takes no masks')
        state, y = self.module.apply(self.parameters, jnp.asarray(x), initial_carry=state, return_carry=True)
        return np.asarray(y), state


def layers() -> dict[str, Callable[[], Layer]]:
    """Attention, and RNNs of each cell."""
    cells = (linen.SimpleCell, linen.GRUCell, linen.MGUCell, linen.LSTMCell, linen.OptimizedLSTMCell)
    return {
        'linen.MultiHeadDotProductAttention, causal': functools.partial(Linen, True),
        'linen.MultiHeadDotProductAttention, both directions': functools.partial(Linen, False),
        'nnx.MultiHeadAttention, causal': functools.partial(NNX, True),
        'nnx.MultiHeadAttention, both directions': functools.partial(NNX, False),
        'jax.nn.dot_product_attention, causal': functools.partial(Function, True),
        'jax.nn.dot_product_attention, both directions': functools.partial(Function, False),
        'jax.nn.dot_product_attention, grouped queries': functools.partial(Function, True, 2),
        'jax.nn.dot_product_attention, window': functools.partial(Function, True, local_window_size=(3, 0)),
        **{f'linen.RNN, {cell.__name__}': lambda cell=cell: Recurrent(cell(16)) for cell in cells},
        'linen.Bidirectional, GRUCell': lambda: Recurrent(linen.GRUCell(16), both=True),
    }
