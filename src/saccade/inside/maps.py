# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention maps of a text or an image, layer by layer."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """Attention of one layer on one text.

    Attributes:
        name: 'layers.3.mixer', 'encoder.layers.0.mixer', 'decoder.layers.3.cross', 'layers.3.pass_2.mixer' (from 0, as
            in all names of activations).
        weights: may be negative where a linear mixer implies them.
        queries, keys: labels of T and of S.
        note: '' or the origin of the weights, as 'implied: derivative of the heads by the values'.
        grid: rows and columns of image patches at the end of the keys; None for text.
    """

    name: str
    weights: Float[np.ndarray, 'N T S']
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    note: str = ''
    grid: tuple[int, int] | None = None
