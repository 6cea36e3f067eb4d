# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Reconstruction: predict the label at each position from one vector per row.

    loss = mean over the positions that have a label of -log p(label | the row's vector, the position)

Poli et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures", section 3.1,
https://arxiv.org/abs/2403.17844: MAD's compression task. The encoder may have any mixers, including causal ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp

from saccade.ops.loss import cross_entropy
from saccade.task.answering import ANSWERED, answered
from saccade.task.base import Forward, ReadsHead, TokenScores
from saccade.types import Batch, Metric, Total

__all__ = ['Reconstruction']


@dataclass(frozen=True)
class Reconstruction(ReadsHead):
    """Reconstruction with the head 'reconstructed'."""

    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('reconstructed',)}
    reads: ClassVar[tuple[str, ...]] = ('tokens', 'labels', 'segments', 'positions')
    reports: ClassVar[tuple[Metric, ...]] = ANSWERED

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over positions, `loss` in nats and `accuracy`, and `solved`, the share of correct rows."""
        logits, labels = self.read(forward, batch), batch['labels']
        best, known = jnp.argmax(logits, axis=-1), jnp.maximum(labels, 0)
        return answered(TokenScores(cross_entropy(logits, known), best == known, best), labels)
