# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""General (bilinear) score of a decoder state and a source state, of any two widths.

    score(s, h) = s . (h W)

Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation", equation 8,
https://arxiv.org/abs/1508.04025. h W is computed once for all steps. Cost: T S D, and S C D once.
"""

import flax.linen as nn

from saccade.axes import parameter
from saccade.module import Module
from saccade.recurrent.decoder.attention_base import ScoreFunction

__all__ = ['General']


class General(Module):
    """General (bilinear) score, s . (h W)."""

    @nn.compact
    def __call__(self, query_width: int, key_width: int) -> ScoreFunction:
        return ScoreFunction(
            key=parameter(self, 'key', 'D -> D', nn.initializers.lecun_normal(), (key_width, query_width))
        )
