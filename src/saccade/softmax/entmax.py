# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Entmax: sparse attention weights that are continuous in the scores.

    p_j = [(alpha - 1) s_j - t]_+^(1 / (alpha - 1)),    t such that sum_j p_j = 1

Peters, Niculae, Martins 2019, "Sparse Sequence-to-Sequence Models", with the paper's bisection and its Jacobian,
https://arxiv.org/abs/1905.05702
alpha = 2 is sparsemax (Martins, Astudillo 2016, https://arxiv.org/abs/1602.02068), the projection onto the simplex;
alpha -> 1 is softmax. Bisection is used for every alpha. Cost: T S powers per head and bisection step. It has no
blockwise path.
"""

from typing import Annotated, Any, ClassVar

from flax import struct
from jaxtyping import Array, Bool

from saccade.module import Module
from saccade.ops.entmax import masked_entmax
from saccade.types import Range, Rows, Scores

__all__ = ['Entmax']


@struct.dataclass
class EntmaxWeights:
    """Entmax of whole rows.

    Attributes: alpha; a larger alpha gives sparser weights.
    """

    alpha: float = struct.field(pytree_node=False)

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B #N T S']) -> Scores:
        return masked_entmax(self.alpha, scores, allowed)


class Entmax(Module):
    """Entmax.

    Attributes: alpha, above 1 and at most 2; 1.5 in the paper.
    """

    alpha: Annotated[float, Range(above=1, most=2)]

    rows: ClassVar[Rows] = Rows(dense=False)
    why_not: ClassVar[dict[str, str]] = {
        'OnlineSoftmaxVariant': 'its threshold is computed by repeated passes over a whole row'
    }
    example: ClassVar[dict[str, Any]] = dict(alpha=1.5)

    def __call__(self, heads: int) -> EntmaxWeights:
        return EntmaxWeights(self.alpha)
