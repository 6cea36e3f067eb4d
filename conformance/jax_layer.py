# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layers of JAX functions of parameters and tokens."""

import copy
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from conformance.layer import Array, Layer


class JaxLayer(Layer):
    """A layer around `forward(parameters, x, given)`; `given(segments)` is the segments, or an adapter's own masks.

    Noise is added to the initial parameters, so that no gate is zero.
    """

    def __init__(
        self,
        forward: Callable[[Any, jax.Array, Any], jax.Array],
        parameters: Any,
        causal: bool = True,
        noise: float = 0.1,
    ) -> None:
        random = np.random.default_rng(0)
        self.forward, self.causal, self.dtype = forward, causal, jnp.float32
        self.parameters = jax.tree.map(
            lambda leaf: leaf + jnp.asarray(noise * random.normal(size=leaf.shape), leaf.dtype), parameters
        )

    def given(self, segments: Array | None) -> Any:
        """Return the arrays that `forward` takes for segments; raise `NotOffered` where there are none."""
        return segments

    def call(self, x: Array, segments: Array | None = None) -> Array:
        tokens, given = jnp.asarray(x, self.dtype), self.given(segments)
        return np.asarray(self.programs[0](self.parameters, tokens, given), np.float32)

    def gradients(self, x: Array, direction: Array, segments: Array | None = None) -> tuple[Array, dict[str, Array]]:
        by_parameters, by_x = self.programs[1](self.parameters, jnp.asarray(x), self.given(segments), direction)
        leaves = jax.tree_util.tree_leaves_with_path(by_parameters)
        return np.asarray(by_x), {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}

    @functools.cached_property
    def programs(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """The layer and its gradients, compiled for each shape."""

        def along(parameters: Any, x: jax.Array, given: Any, direction: jax.Array) -> jax.Array:
            return (self.forward(parameters, x, given) * direction).sum()

        return jax.jit(self.forward), jax.jit(jax.grad(along, (0, 1)))

    def in_bfloat16(self) -> tuple[Layer, Layer]:
        low, exact = copy.copy(self), copy.copy(self)
        low.dtype = jnp.bfloat16
        low.parameters = jax.tree.map(functools.partial(_floats_to, jnp.bfloat16), self.parameters)
        exact.parameters = jax.tree.map(functools.partial(_floats_to, jnp.float32), low.parameters)
        return low, exact


def _floats_to(dtype: Any, leaf: jax.Array) -> jax.Array:
    """Convert real numbers; no complex bfloat16 exists."""
    return leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf
