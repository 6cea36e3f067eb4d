# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the tasks of texts that are compared by their vectors: one tower reads each text alone.

    [B texts T] -> [(B texts) T] -> the tower, once -> [(B texts) D] -> [B texts D]

Bromley et al. 1993, "Signature Verification using a Siamese Time Delay Neural Network",
https://papers.nips.cc/paper/1993/hash/288cc0ff022877bd3df94bc9360b9c5d-Abstract.html. Both branches have the
same leaves of parameters, since one model is applied once.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.task.base import Forward, ReadsHead
from saccade.types import Batch, EncoderModel, Params, PRNGKey, UserError

SEARCH = {'search': 'launch/search.py --corpus=README.md --query="how to train a model"'}  # what the vectors are for
_OF_TOKENS = ('segments', 'positions', 'types')


class Siamese(ReadsHead):
    """Base of the tasks of texts that are compared by their vectors."""

    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('pooled',)}

    def inputs(self, model: EncoderModel, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return super().inputs(model, key, one_by_one(batch, model.reads))

    def read(self, forward: Forward, model: EncoderModel, params: Params, batch: Batch, key: PRNGKey) -> Array:
        """Return what the head makes of the texts of a batch, those of one example next to each other.

        Raises:
            UserError: the model has no such head.
        """
        return super().read(forward, model, params, one_by_one(batch, model.reads), key)

    def vectors(
        self, forward: Forward, model: EncoderModel, params: Params, batch: Batch, key: PRNGKey
    ) -> Float[Array, 'B texts D']:
        """Return the vector of each text."""
        found = self.read(forward, model, params, batch, key)
        return rearrange(found, '(B texts) D -> B texts D', texts=batch['segments'].shape[1])


def one_by_one(batch: Batch, reads: str) -> Batch:
    """Return a batch of texts, one a row, from one of pairs or triplets.

    Args:
        reads: the name of the inputs.

    Raises:
        UserError: the batch has one text a row, or two in one row.
    """
    if batch['segments'].ndim != 3:
        raise UserError(
            'config.data: texts are compared by their vectors where each stands in a row of its own; take '
            "data.encoder.siamese's SiameseClassified, SiameseValued or Positives"
        )
    stacked = {name: batch[name] for name in (reads, *_OF_TOKENS) if name in batch}
    return {name: rearrange(leaf, 'B texts ... -> (B texts) ...') for name, leaf in stacked.items()}


def there(batch: Batch) -> Float[Array, 'B']:
    """Return 1 for each row with an example, 0 for padding."""
    return (batch['example'] >= 0).astype(jnp.float32)
