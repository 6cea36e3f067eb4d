# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Expert-choice routing: every expert takes the tokens that score highest with it, so that loads are even.

    s = softmax_E(x Wr),  token t is served by i where s_ti is among the k highest of its column,  gate = s_ti
    k = A T / E, rounded up, over the T tokens of all rows      Wr [D E], in float32

Zhou et al. 2022, "Mixture-of-Experts with Expert Choice Routing", equations 1-3, https://arxiv.org/abs/2202.09368
A is the paper's capacity factor c: the experts a token has on average. A token may have none: `dropped` says how
many. Whether a token is chosen depends on the others, later ones and padding too, so no causal model may use it.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from saccade.axes import parameter
from saccade.ops.project import project
from saccade.ops.routing import Routes, routes_by_expert
from saccade.types import Part

__all__ = ['ExpertChoice']


class ExpertChoice(nn.Module):
    """Expert-choice router.

    Attributes: kernel_init of Wr.
    """

    kernel_init: Part = Part(nn.initializers.lecun_normal)
    sees_others: ClassVar[bool] = True
    mixes_rows: ClassVar[str] = 'the tokens that its experts choose among'

    @nn.compact
    def __call__(
        self, x: Float[Array, 'T D'], experts: int, active: int, train: bool, real: Bool[Array, 'T']
    ) -> Routes:
        kernel = parameter(self, 'kernel', 'D -> X', self.kernel_init(), (x.shape[-1], experts))
        scores = jax.nn.softmax(project(x.astype(jnp.float32), kernel.astype(jnp.float32)))
        return routes_by_expert(scores, active / experts, real)
