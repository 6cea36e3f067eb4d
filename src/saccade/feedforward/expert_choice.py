# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Expert-choice routing: every expert selects its k highest-scoring tokens, so loads are even.

    s = softmax_E(x Wr),  expert i selects token t if s_ti is among the k highest of its column,  gate = s_ti
    k = A T / E, rounded up, over the T tokens of all rows      Wr [D E], in float32

Zhou et al. 2022, "Mixture-of-Experts with Expert Choice Routing", equations 1-3, https://arxiv.org/abs/2202.09368
A is the paper's capacity factor c: the average number of experts per token. A token can have none: `dropped` is the
share of these tokens. The selection of a token depends on later tokens and padding, so causal models cannot use it.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.project import project
from saccade.ops.routing import Routes, routes_by_expert
from saccade.types import Part

__all__ = ['ExpertChoice']


class ExpertChoice(Module):
    """Expert-choice router.

    Attributes: kernel_init, the initialiser of Wr.
    """

    kernel_init: Part = Part(nn.initializers.lecun_normal)
    sees_others: ClassVar[bool] = True
    mixes_rows: ClassVar[str] = 'the tokens that its experts choose among'

    @nn.compact
    def __call__(
        self, x: Float[Array, 'T D'], experts: int, active: int, train: bool, real: Bool[Array, 'T']
    ) -> Routes:
        kernel = parameter(self, 'kernel', 'D -> X', self.kernel_init(), (x.shape[-1], experts), dtype=jnp.float32)
        scores = jax.nn.softmax(project(x.astype(jnp.float32), kernel))
        return routes_by_expert(scores, active / experts, real)
