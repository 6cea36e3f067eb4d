# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Initialisers of the token embedding. A config names those of JAX by import path too."""

from typing import Any

import jax.numpy as jnp
from jax.nn.initializers import Initializer
from jaxtyping import Array

from saccade.types import PRNGKey, UserError

__all__ = ['one_hot']


def one_hot() -> Initializer:
    """One-hot initialiser: one feature a token, 1 where it is that token and else 0.

    Where it is frozen (`train.rates:Frozen`, match '^embedding$') there is no embedding: the first layer sees tokens
    as they are. It needs as many features as there are tokens: bytes, or characters.
    """

    def initialise(key: PRNGKey, shape: tuple[int, int], dtype: Any = jnp.float32) -> Array:
        V, D = shape
        if V > D:
            raise UserError(
                f'model.embedding_init: {V} tokens are more than the {D} features that one-hot vectors of them have; '
                f'set model.width to at least {V}, or take a smaller vocabulary, as data.tokenizer.byte:Byte has'
            )
        return jnp.eye(V, D, dtype=dtype)

    return initialise
