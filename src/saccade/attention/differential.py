# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Differential attention: the difference of two softmax attentions, which cancels common noise.

    y_n = (1 - a) norm( attend(q1_n, k1_n, v_n) - lambda attend(q2_n, k2_n, v_n) ),
    lambda = exp(lq1 . lk1) - exp(lq2 . lk2) + a,     a in (0, 1), the initial lambda

Ye et al. 2024, "Differential Transformer", equations 1 to 3, https://arxiv.org/abs/2410.05258
The paper's a grows with depth, 0.8 - 0.6 exp(-0.3 (layer - 1)); it reports that a constant 0.8 works as well, and ours
is one value per block. Values and outputs are two head widths wide. Every kernel, mask and position works with it.
Cost: two kernel calls; the matrix products of multi-head attention in total.
"""

from collections.abc import Mapping

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.attention.multi_head import MultiHead
from saccade.axes import parameter
from saccade.norm.rms import RMSNorm
from saccade.ops.project import each_head
from saccade.types import Hidden, Mixed, Norm, Part, Real, Share, UserError

__all__ = ['Differential']


class Differential(MultiHead):
    """Differential attention.

    Attributes: the attributes of MultiHead; start, a; output_norm of each difference; lambda_init of the four vectors.

    `heads` and `key_value_heads` count both attentions, so both are even.
    """

    start: Share = 0.8
    output_norm: Part[Norm] = Part(RMSNorm, (('epsilon', 1e-5), ('scale', False)))
    lambda_init: Part = Part(nn.initializers.normal, (('stddev', 0.1),))

    def sizes(self, D: int) -> tuple[int, int, int]:
        """Return N, K and H at width D.

        Raises:
            UserError: K is odd; and as for MultiHead.
        """
        N, K, H = super().sizes(D)
        if K % 2:
            raise UserError(
                f'attention.differential:Differential: {K} key_value_heads do not form pairs; use an even number'
            )
        return N, K, H

    def kv_shapes(self, D: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return heads and width of the keys, and of the values: half as many, twice as wide."""
        _, K, H = self.sizes(D)
        return (K, H), (K // 2, 2 * H)

    def project_heads(self, inputs: Mapping[str, Array], D: int) -> dict[str, Array]:
        """Project to heads; the values of a pair are concatenated, as both attentions of a pair share them."""
        made = super().project_heads(inputs, D)
        if 'value' in made:
            made['value'] = rearrange(made['value'], 'B S (P A) H -> B S P (A H)', A=2)
        return made

    def project_output(self, x: Hidden, mixed: Mixed, real: Real | None, train: bool) -> Hidden:
        """Subtract the second attention of each pair from the first, normalise the difference, and project it."""
        _, K, H = self.sizes(x.shape[-1])
        first, second = rearrange(mixed, 'B T (P A G) H -> A B T (P G) H', A=2, P=K // 2)
        one, two = (self._exponential(number, H).astype(mixed.dtype) for number in (1, 2))
        normed = each_head(self.output_norm(name='output_norm'), first - (one - two + self.start) * second, real)
        return super().project_output(x, (1.0 - self.start) * normed, real, train)

    def _exponential(self, number: int, H: int) -> Float[Array, '']:
        vectors = (
            parameter(self, f'lambda_{side}_{number}', 'H', self.lambda_init(), (H,), dtype=jnp.float32)
            for side in ('query', 'key')
        )
        return jnp.exp(jnp.vdot(*vectors))
