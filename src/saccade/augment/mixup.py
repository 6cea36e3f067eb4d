# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixup: each image is a mixture of two, and its loss the same mixture of the losses for both labels.

    x = l x_i + (1 - l) x_j;   loss = l loss(y_i) + (1 - l) loss(y_j),    l ~ Beta(alpha, alpha)

Zhang et al. 2018, "mixup: Beyond Empirical Risk Minimization", equation 1, https://arxiv.org/abs/1710.09412. The
adjacent rows 2k and 2k + 1 of a batch are mixed, so rows of other devices are not needed; batches are shuffled.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array

from saccade.ops.masking import RowKeys
from saccade.types import Batch, Positive, UserError

__all__ = ['Mixup']


@dataclass(frozen=True)
class Mixup:
    """Mixup. Attributes: alpha, of the distribution of l; a larger alpha gives more even mixtures."""

    alpha: Positive = 0.2

    reads: ClassVar[str] = 'images'
    mixes_rows: ClassVar[str] = 'the pairs of images'

    def __call__(self, keys: RowKeys, batch: Batch) -> Batch:
        """Return the batch with mixed images, and `other_label` and `share`, l, of each row.

        Raises:
            UserError: the number of rows per device is odd.
        """
        if len(keys) % 2:
            raise UserError(f'augment.mixup:Mixup: the number of images per device must be even, not {len(keys)}')
        shares = jax.vmap(lambda key: jax.random.beta(key, self.alpha, self.alpha))(keys)
        share = jnp.repeat(shares[::2], 2)
        images, weight = batch['images'], share[:, None, None, None].astype(batch['images'].dtype)
        mixed = weight * images + (1 - weight) * _swapped(images)
        return {**batch, 'images': mixed, 'other_label': _swapped(batch['label']), 'share': share}


def _swapped(rows: Array) -> Array:
    """Return the rows with adjacent rows swapped: 1, 0, 3, 2, ..."""
    return rearrange(rearrange(rows, '(k two) ... -> k two ...', two=2)[:, ::-1], 'k two ... -> (k two) ...')
