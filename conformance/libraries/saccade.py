# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Saccade: every mixer of the catalogue; multi-head attention with every kernel, softmax, score term and position."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from conformance.jax_layer import JaxLayer
from conformance.layer import Array, Layer, NotOffered, Weights, positions_of, refuse_documents
from conformance.run import SHAPE
from saccade.analysis.catalogue.catalogue import PLAIN, Catalogue, can
from saccade.attention.multi_head import MultiHead
from saccade.build import build
from saccade.types import LayerContext, Rows

TITLE = 'Saccade'
REQUIRES = ('saccade', 'jax', 'flax')

TAPS = ['pattern', 'value', 'heads']
# Kernels that compute softmax attention in another order.
EXACT = {f'attention.{name}' for name in ('auto:Auto', 'blockwise:Blockwise', 'ring:Ring', 'splash:Splash')}


class Mixer(JaxLayer):
    """A mixer or block from its spec, for tokens of one shape."""

    def __init__(self, spec: dict[str, Any], parameters: Any = None, shape: tuple[int, int] = SHAPE) -> None:
        self.shape = shape
        self.spec, self.module, self.can = spec, build(spec)(), can(spec)
        rows = [part.target.rows for part in build(spec).walk() if hasattr(part.target, 'rows')]
        self.rows = rows[0] if rows else Rows()
        self.continuous = self.rows.continuous
        if parameters is None:
            shapes = jax.eval_shape(
                lambda: self.module.init(
                    jax.random.key(0), jnp.zeros((2, 4, self.width)), _context((2, 4)), False, mutable=['params']
                )
            )
            random = np.random.default_rng(0)
            parameters = jax.tree.map(
                lambda leaf: jnp.asarray(random.normal(float(leaf.ndim == 1), 0.4, leaf.shape), leaf.dtype), shapes
            )
        super().__init__(self._apply, parameters, causal=self.can.causal, noise=0.0)

    def _apply(self, parameters: Any, x: jax.Array, segments: Array | None) -> jax.Array:
        return self.module.apply(parameters, x, _context(x.shape[:2], segments), False)

    def given(self, segments: Array | None) -> Array | None:
        if segments is not None and not self.can.packed:
            raise NotOffered('declares that it takes no segments')
        return segments

    def alone(self, x: Array) -> Array:
        if not self.can.packed:
            return self.call(x)
        return self.call(*self._padded(x))[: len(x), : x.shape[1]]

    def gradients_alone(self, x: Array, direction: Array) -> tuple[Array, dict[str, Array]]:
        padded, segments = self._padded(x)
        by_x, by_parameters = self.gradients(padded, self._padded(direction)[0], segments)
        return by_x[: len(x), : x.shape[1]], by_parameters

    def _padded(self, x: Array) -> tuple[Array, Array]:
        """Return a document padded to the shape of all others, so that it needs no program of its own; its segments."""
        room = [(0, most - count) for most, count in zip(self.shape, x.shape[:2], strict=True)]
        return np.pad(x, [*room, (0, 0)]), np.pad(np.ones(x.shape[:2], np.int32), room)

    def init_state(self, batch: int, capacity: int) -> Any:
        if not self.can.cached:
            raise NotOffered('declares that it cannot decode')
        tokens = jnp.zeros((batch, 1, self.width))
        state = self.module.apply(self.parameters, tokens, capacity, method='init_state')
        return state, np.zeros((batch, 0), np.int32)

    def step(self, x: Array, state: Any, segments: Array | None = None) -> tuple[Array, Any]:
        state, before = state
        if not self.can.packed:
            refuse_documents(segments)
        segments = np.ones(x.shape[:2], np.int32) if segments is None else segments
        both = np.concatenate([before, segments], axis=1)
        places = positions_of(both)[:, -x.shape[1] :]
        y, state = self._step(self.parameters, x, LayerContext(jnp.asarray(places), jnp.asarray(segments)), state)
        return np.asarray(y), (state, both)

    @functools.cached_property
    def _step(self) -> Callable[..., Any]:
        return jax.jit(functools.partial(self.module.apply, method='step'))

    def with_chunk(self, size: int) -> Layer:
        if 'chunk' not in self.spec:
            return super().with_chunk(size)
        return Mixer({**self.spec, 'chunk': size}, self.parameters, self.shape)

    def kernels(self) -> dict[str, Layer]:
        if self.spec.get('kernel', PLAIN)['use'] not in EXACT:
            raise NotOffered('one implementation')
        return {'plain': Mixer({**self.spec, 'kernel': PLAIN}, self.parameters, self.shape)}

    def weights(self, x: Array) -> Weights:
        if type(self.module) is not MultiHead:  # others do more with the heads
            raise NotOffered('its weights alone do not mix the values')
        tapped = self.module.apply(self.parameters, jnp.asarray(x), _context(x.shape[:2]), False, mutable=TAPS)[1]
        if 'pattern' not in tapped:
            raise NotOffered('its weights are of projections of the tokens')
        weights, values, mixed = (np.asarray(*jax.tree.leaves(tapped[name])) for name in TAPS)
        values = values.repeat(weights.shape[1] // values.shape[2], axis=2)
        return Weights(weights, values.swapaxes(1, 2), mixed.swapaxes(1, 2), self.rows.least, self.rows.most)


def _context(shape: tuple[int, ...], segments: Any = None) -> LayerContext:
    whole = np.ones(shape, np.int32) if segments is None else segments
    return LayerContext(jnp.asarray(positions_of(whole)), segments)


def layers() -> dict[str, Callable[[], Layer]]:
    """The catalogue's mixers."""
    return {name: functools.partial(Mixer, spec) for name, spec in Catalogue.ours().mixers().items()}
