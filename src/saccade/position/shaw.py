# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Relative position vectors: a trained vector per clipped distance is added to the keys.

    s[n, i, j] = scale q_i . (k_j + a[clip(j - i, -reach, reach)])

Shaw et al. 2018, "Self-Attention with Relative Position Representations", equations 4 and 5,
https://arxiv.org/abs/1803.02155
The vectors are shared by the heads of a layer, as in the paper. Vectors are added only to keys: the vectors for values
(equation 3) are omitted, as by the paper's table 3 they do not improve the result. Parameters R H, R = 2 reach + 1.
Cost: B N T R H per block, and a lookup per pair. Any length; all distances beyond `reach` share a vector.
"""

from typing import Any, ClassVar

import flax.linen as nn

from saccade.axes import parameter
from saccade.ops.term import RelativeKeys
from saccade.position.base import OnScores
from saccade.types import Count, Part, ScoreTerm

__all__ = ['Shaw']


class Shaw(OnScores):
    """Relative position vectors of Shaw et al. 2018.

    Attributes: reach, the maximum distance, in tokens; head_width H of the attention; table_init, the initialiser of
    the vectors.
    """

    reach: Count
    head_width: Count
    table_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    example: ClassVar[dict[str, Any]] = {'reach': 3, 'head_width': 4}

    @nn.compact
    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return the term that adds q . a[distance] to the scores, with distances clipped to `reach`."""
        shape = (2 * self.reach + 1, self.head_width)
        return (RelativeKeys(parameter(self, 'table', 'X H', self.table_init(), shape)),)
