# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Random signs of Laplacian eigenvectors: one random sign per eigenvector of a graph, the same for all nodes.

    v_i -> s_i v_i,   s_i = 1 or -1 with equal probability

Dwivedi et al. 2020, "Benchmarking Graph Neural Networks", https://arxiv.org/abs/2003.00982: the sign of an eigenvector
is arbitrary, so the model should be invariant to it. Identifiers other than eigenvectors are unchanged.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.ops.masking import RowKeys
from saccade.types import Batch, PRNGKey

__all__ = ['SignFlip']


@dataclass(frozen=True)
class SignFlip:
    """Random signs of the eigenvectors in the frames of a graph; `eigenvectors` has their numbers."""

    reads: ClassVar[str] = 'frames'

    def __call__(self, keys: RowKeys, batch: Batch) -> Batch:
        """Return the batch with a random sign for each eigenvector of each graph."""

        def flipped(key: PRNGKey, frames: Float[Array, 'T F'], eigenvectors: Int[Array, 'F']) -> Float[Array, 'T F']:
            signs = jax.random.rademacher(key, eigenvectors.shape, frames.dtype)  # at most one eigenvector per place
            return frames * jnp.where(eigenvectors == 0, 1, signs[eigenvectors - 1])

        return {**batch, 'frames': jax.vmap(flipped)(keys, batch['frames'], batch['eigenvectors'])}
