# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Siamese classification: learn sentence vectors u, v from the class of two texts, for example in NLI (entailment).

    p(label) = softmax((u, v, |u - v|) W + c),   loss = mean over pairs of -log p(label)

Reimers and Gurevych 2019, "Sentence-BERT", section 3, https://arxiv.org/abs/1908.10084. W belongs to the encoder's head
`compared`, `head.compared:Compared`; vectors for search come from the head `pooled`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from saccade.task.classification import Classification
from saccade.task.siamese_base import SEARCH, Siamese

__all__ = ['SiameseClassification']


@dataclass(frozen=True)
class SiameseClassification(Siamese, Classification):
    """Siamese classification with the head 'compared'."""

    heads: ClassVar[Mapping[str, tuple[str, ...]]] = {'': ('compared',)}
    then: ClassVar[dict[str, str]] = {**SEARCH, **Classification.then}
