# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Relative positions of Transformer-XL: projected sinusoids of the distance, and two trained vectors u and v.

    s[n, i, j] = scale (q_i . k_j + q_i . W_n r(i-j) + u_n . k_j + v_n . W_n r(i-j)),   r(d) = [sin(d w), cos(d w)]

Dai et al. 2019, "Transformer-XL: Attentive Language Models beyond a Fixed-Length Context", section 3.3,
https://arxiv.org/abs/1901.02860; also in XLNet (Yang et al. 2019).
In the paper the sinusoids are as wide as the model, P = D. Here sin and cos of i - j are computed as sums of products
of the sin and cos of i and j: no gather, no shift, any indices. Parameters (P + 2) N H. Cost: 2 B N T S P in addition
to the scores' 2 B N T S H, and B T N H P per block; memory of a block of scores. Any length.
"""

from typing import Any, ClassVar

import flax.linen as nn

from saccade.axes import parameter
from saccade.ops.term import RelativeWaves
from saccade.position.base import OnScores
from saccade.types import Count, Part, Positive, ScoreTerm, UserError

__all__ = ['TransformerXL']


class TransformerXL(OnScores):
    """Relative positions of Transformer-XL.

    Attributes:
        width: P, number of sinusoid features, half of them sines.
        head_width: width of a head of the attention (H).
        base: longest wavelength over 2 pi, in tokens.
        kernel_init: initialiser of W, a matrix of P rows.
        bias_init: initialiser of u and v.
    """

    width: Count
    head_width: Count
    base: Positive = 10000.0
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    bias_init: Part = Part(nn.initializers.constant, (('value', 0.0),))

    example: ClassVar[dict[str, Any]] = {'width': 6, 'head_width': 4}

    @nn.compact
    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return the term that adds the products with relative positions and the trained vectors u and v.

        Raises:
            UserError: `width` is odd.
        """
        P, H = self.width, self.head_width
        if P % 2:
            raise UserError(f'position.transformer_xl:TransformerXL needs an even width, not {P}')
        biases = (
            parameter(self, f'{name}_bias', 'N H', self.bias_init(), (heads, H)) for name in ('content', 'position')
        )
        projection = parameter(self, 'projection', 'D -> X', self.kernel_init(), (P, heads * H)).reshape(P, heads, H)
        return (RelativeWaves(*biases, projection, self.base),)
