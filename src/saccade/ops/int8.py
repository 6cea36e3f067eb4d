# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors in int8, each with a scale of its own.

    scale = max |x| / 127       values = round(x / scale)       x is about scale * values

An element is off by at most half of the scale, 0.4% of the largest element of its vector. Dettmers et al. 2022,
"LLM.int8()", section 2.1, https://arxiv.org/abs/2208.07339, call it absmax quantisation.
"""

from typing import Any

import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float
from jaxtyping import Int8 as Int8Array

MOST = 127  # -128 has no counterpart


@struct.dataclass
class Int8:
    """Vectors along the last axis, in int8; the other axes of both arrays are alike.

    Attributes: dtype, in which `vectors` returns them.
    """

    values: Int8Array[Array, '*X H']
    scale: Float[Array, '*X 1']
    dtype: Any = struct.field(pytree_node=False)

    @classmethod
    def of(cls, x: Float[Array, '*X H'], dtype: Any) -> 'Int8':
        """Return vectors in int8. Those with an element that is not a number stay without any."""
        scale = jnp.max(jnp.abs(x.astype(jnp.float32)), axis=-1, keepdims=True, initial=0.0) / MOST
        values = jnp.round(x.astype(jnp.float32) / jnp.where(scale > 0, scale, 1.0))
        return cls(values.astype(jnp.int8), scale, jnp.dtype(dtype))

    def vectors(self) -> Float[Array, '*X H']:
        """Return the vectors in their dtype."""
        return (self.values * self.scale).astype(self.dtype)
