# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Reconstruction: predict the answer at each place by a head that sees one vector of the row.

    loss = mean over the places that have a label of -log p(label | the row's vector, the place)

Poli et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures", section 3.1, https://arxiv.org/abs/2403.17844:
MAD's compression. The mixers are whatever the encoder has, causal ones too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp

from saccade.ops.loss import cross_entropy
from saccade.task.answering import ANSWERED, answered
from saccade.task.base import Forward, ReadsHead, TokenScores
from saccade.types import Batch, EncoderModel, Metric, Params, PRNGKey, Total

__all__ = ['Reconstruction']


@dataclass(frozen=True)
class Reconstruction(ReadsHead):
    """Reconstruction by the head 'reconstructed'."""

    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('reconstructed',)}
    reads: ClassVar[tuple[str, ...]] = ('tokens', 'labels', 'segments', 'positions')
    reports: ClassVar[tuple[Metric, ...]] = ANSWERED

    def totals(
        self, forward: Forward, model: EncoderModel, params: Params, batch: Batch, key: PRNGKey
    ) -> dict[str, Total]:
        """Return totals: `loss` in nats and `accuracy` over places, and `solved`, the rows of right answers alone."""
        logits, labels = self.read(forward, model, params, batch, key), batch['labels']
        best, known = jnp.argmax(logits, axis=-1), jnp.maximum(labels, 0)
        return answered(TokenScores(cross_entropy(logits, known), best == known, best), labels)
