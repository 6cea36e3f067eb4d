# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Additive score: a network with one hidden layer on a decoder state and a source state. Luong's "concat" is the same.

    score(s, h) = v . tanh(s W_s + h W_h) = v . tanh([s ; h] W),    W = [W_s ; W_h]

Bahdanau et al. 2015, "Neural Machine Translation by Jointly Learning to Align and Translate", appendix A.1.2,
https://arxiv.org/abs/1409.0473; Luong et al. 2015, equation 8, https://arxiv.org/abs/1508.04025
h W_h is computed once for all steps. Cost: T S A, with a tanh each; T D A, and S C A once.
"""

import flax.linen as nn

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops import score_terms
from saccade.recurrent.decoder.attention_base import ScoreFunction
from saccade.types import Count

__all__ = ['Additive']


class Additive(Module):
    """Additive score, v . tanh(s W_s + h W_h).

    Attributes: width, number of hidden units (A).
    """

    width: Count

    @nn.compact
    def __call__(self, query_width: int, key_width: int) -> ScoreFunction:
        init = nn.initializers.lecun_normal()
        query, key = (
            parameter(self, name, 'D -> F', init, (width, self.width))
            for name, width in (('query', query_width), ('key', key_width))
        )
        out = parameter(self, 'out', 'F -> 1', init, (self.width, 1))
        return ScoreFunction(query, key, (score_terms.Additive(out.T),), scale=0.0)
