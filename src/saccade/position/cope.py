# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Contextual position encoding (CoPE): a key's position is the sum of the gates between it and the query.

    g_ij = sigmoid(scale q_i . k_j),   p_ij = min(g_ij + ... + g_ii, P - 1),   s_ij = scale q_i . (k_j + e[p_ij])

Golovneva et al. 2024, "Contextual Position Encoding: Learning to Count What's Important" (CoPE), equations 3 to 6,
https://arxiv.org/abs/2405.18719
e is interpolated between integer counts; it is initialised to zeros and shared by the heads, as in the authors' code,
which also scales the gates. With later keys the count includes the keys after j up to the last allowed one. Parameters
P H. Cost: B N T P H per block, two lookups and a cumulative sum per pair. Key blocks are visited from last to first.
"""

from typing import Any, ClassVar

import flax.linen as nn

from saccade.axes import parameter
from saccade.ops.term import CountedKeys
from saccade.position.base import OnScores
from saccade.types import Count, Part, ScoreTerm

__all__ = ['CoPE']


class CoPE(OnScores):
    """Contextual position encoding.

    Attributes: counts, the number P of counts, including 0; head_width H of the attention; table_init, the initialiser
    of e.
    """

    counts: Count
    head_width: Count
    table_init: Part = Part(nn.initializers.constant, (('value', 0.0),))

    example: ClassVar[dict[str, Any]] = {'counts': 4, 'head_width': 4}

    @nn.compact
    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return the term that adds q . e[count] to the scores."""
        return (CountedKeys(parameter(self, 'table', 'X H', self.table_init(), (self.counts, self.head_width))),)
