# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Token embedding: the row of a table E for each token id.

    x_t = E[token_t]

Bengio et al. 2003, "A Neural Probabilistic Language Model", section 2,
https://www.jmlr.org/papers/v3/bengio03a.html. The table belongs to the model, which can tie its output projection to
it.
"""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.module import Module
from saccade.types import LayerContext, Table, Tokens, UserError

__all__ = ['TokenEmbedding']


class TokenEmbedding(Module):
    """Token embedding: a lookup in the model's table."""

    reads: ClassVar[str] = 'tokens'

    def __call__(
        self, inputs: Tokens, context: LayerContext, width: int, table: Table | None
    ) -> tuple[Float[Array, 'B T E'], LayerContext]:
        if table is None:
            raise UserError('config.model.vocabulary: missing; embed.token:TokenEmbedding looks tokens up by their ids')
        # Cast before the lookup, so that the gradient is summed over the occurrences of a token in the wider dtype.
        return jnp.take(table.astype(jnp.float32), inputs, axis=0).astype(table.dtype), context
