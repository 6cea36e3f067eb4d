# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Dot-product score of a decoder state and a source state, which must have the same width.

    score(s, h) = s . h

Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation", equation 8,
https://arxiv.org/abs/1508.04025. No parameters. Cost: T S D.
"""

from saccade.module import Module
from saccade.recurrent.decoder.attention_base import ScoreFunction
from saccade.types import UserError

__all__ = ['Dot']


class Dot(Module):
    """Dot-product score, s . h. It has no parameters."""

    def __call__(self, query_width: int, key_width: int) -> ScoreFunction:
        if query_width != key_width:
            raise UserError(
                f"recurrent.score.dot:Dot: the decoder's states are {query_width} wide and the source's {key_width}; "
                "give both one width (two directions have twice their cell's), or take recurrent.score.general:General"
            )
        return ScoreFunction()
