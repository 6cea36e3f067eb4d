# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Exact match: the fraction of texts that equal their references, character by character."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saccade.metric.bootstrap import MetricInterval, of_mean
from saccade.metric.references import References, several
from saccade.types import Metric, fraction

__all__ = ['ExactMatch']


@dataclass(frozen=True)
class ExactMatch:
    """Exact match; white space at either end is ignored."""

    reports: ClassVar[tuple[Metric, ...]] = (fraction('exact_match'),)

    def __call__(self, texts: Sequence[str], references: References) -> dict[str, MetricInterval]:
        """Return `exact_match`.

        Raises:
            UserError: there are no texts.
        """
        pairs = zip(texts, map(several, references), strict=True)
        equal = [text.strip() in map(str.strip, right) for text, right in pairs]
        return {'exact_match': of_mean(np.array(equal, np.float64))}
