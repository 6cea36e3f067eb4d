# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Random signs of Laplacian eigenvectors: each eigenvector of a graph keeps its sign or changes it, all nodes together.

    v_i -> s_i v_i,   s_i = 1 or -1 with equal odds

Dwivedi et al. 2020, "Benchmarking Graph Neural Networks", https://arxiv.org/abs/2003.00982: an eigenvector has no sign
of its own, so the model is to learn that none matters. Identifiers that are no eigenvectors stay as they are.
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
    """Random signs of the eigenvectors in the frames of a graph, whose numbers are in `eigenvectors`."""

    reads: ClassVar[str] = 'frames'

    def __call__(self, keys: RowKeys, batch: Batch) -> Batch:
        """Return the batch with a sign drawn for each eigenvector of each graph."""

        def flipped(key: PRNGKey, frames: Float[Array, 'T F'], eigenvectors: Int[Array, 'F']) -> Float[Array, 'T F']:
            signs = jax.random.rademacher(key, eigenvectors.shape, frames.dtype)  # no more eigenvectors than places
            return frames * jnp.where(eigenvectors == 0, 1, signs[eigenvectors - 1])

        return {**batch, 'frames': jax.vmap(flipped)(keys, batch['frames'], batch['eigenvectors'])}
