# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of siamese tasks: one encoder embeds each text separately, and the vectors are compared.

    [B texts T] -> [(B texts) T] -> one pass of the encoder -> [(B texts) D] -> [B texts D]

Bromley et al. 1993, "Signature Verification using a Siamese Time Delay Neural Network",
https://papers.nips.cc/paper/1993/hash/288cc0ff022877bd3df94bc9360b9c5d-Abstract.html. Both branches share their
parameters, since one model is applied once.
"""

from collections.abc import Mapping
from typing import ClassVar

import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.task.base import Forward, ReadsHead
from saccade.types import Batch, EncoderModel, Inputs, LayerContext, UserError

SEARCH = {'search': 'launch/search.py --corpus=README.md --query="how to train a model"'}  # use of the trained vectors
_OF_TOKENS = ('segments', 'positions', 'types')


class Siamese(ReadsHead):
    """Base of siamese tasks: texts are compared by their vectors."""

    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('pooled',)}

    def given(self, model: EncoderModel, batch: Batch) -> tuple[Inputs, LayerContext]:
        """Return the model's inputs and their context; texts of one example are adjacent rows."""
        return super().given(model, one_by_one(batch, model.reads))

    def vectors(self, forward: Forward, batch: Batch) -> Float[Array, 'B texts D']:
        """Return the vector of each text."""
        found = self.read(forward, batch)
        return rearrange(found, '(B texts) D -> B texts D', texts=batch['segments'].shape[1])


def one_by_one(batch: Batch, reads: str) -> Batch:
    """Return a batch with one text per row, from a batch of pairs or triplets.

    Args:
        reads: name of the inputs.

    Raises:
        UserError: the batch has single texts, or pairs joined in one row.
    """
    if batch['segments'].ndim != 3:
        raise UserError(
            'config.data: the texts of an example must be in separate rows to be compared by their vectors; use '
            "data.encoder.siamese's SiameseClassified, SiameseValued or Positives"
        )
    stacked = {name: batch[name] for name in (reads, *_OF_TOKENS) if name in batch}
    return {name: rearrange(leaf, 'B texts ... -> (B texts) ...') for name, leaf in stacked.items()}


def has_example(batch: Batch) -> Float[Array, 'B']:
    """Return 1 for each row with an example, 0 for padding."""
    return (batch['example'] >= 0).astype(jnp.float32)
