# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""REINFORCE: a sampled choice becomes more likely if the loss after it was lower than expected.

    gradient = d loss + sum over i of (loss from i on - b_i) d log alpha_i[j_i],      j_i ~ alpha_i

Williams 1992, "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning",
https://doi.org/10.1007/BF00992696, as Xu et al. 2015 train hard attention, https://arxiv.org/abs/1502.03044. Unbiased,
with high variance, which the baseline b reduces. The choices' log odds are reported in the collection 'choices', and
the task, which computes the losses, adds `ops.reinforce:surrogate`. Cost: D per step.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.project import project
from saccade.recurrent.decoder.estimator_base import Estimator, Odds, noisy, one_hot
from saccade.types import PRNGKey

__all__ = ['Reinforce']


@struct.dataclass
class Drawn:
    """REINFORCE estimator, with the weights of its baseline.

    Attributes: kernel and bias of the baseline, b = s W + c; its gradient is stopped at the state.
    """

    kernel: Float[Array, 'D 1'] | None
    bias: Float[Array, ' 1']

    def __call__(
        self, odds: Odds, states: Float[Array, 'B T D'], key: PRNGKey
    ) -> tuple[Odds, dict[str, Float[Array, 'B T']]]:
        chosen = one_hot(jnp.argmax(noisy(odds, key), axis=-1), odds)
        its = jnp.sum(chosen * odds, axis=-1)
        return chosen, {
            'log_probability': jnp.log(jnp.where(its > 0, its, 1.0)),
            'baseline': self._baseline(jax.lax.stop_gradient(states)),
        }

    def _baseline(self, states: Float[Array, 'B T D']) -> Float[Array, 'B T']:
        of_state = 0.0 if self.kernel is None else project(states.astype(self.kernel.dtype), self.kernel)[..., 0]
        return jnp.broadcast_to(of_state + self.bias, states.shape[:2]).astype(jnp.float32)


class Reinforce(Module):
    """REINFORCE estimator.

    Attributes: learned, whether the baseline depends on the state; otherwise it is one trained scalar, which approaches
    the mean loss like a moving average."""

    learned: bool = True

    @nn.compact
    def __call__(self, width: int) -> Estimator:
        kernel = parameter(self, 'kernel', 'D -> 1', nn.initializers.zeros, (width, 1)) if self.learned else None
        return Drawn(kernel, parameter(self, 'bias', '1', nn.initializers.zeros, (1,)))
