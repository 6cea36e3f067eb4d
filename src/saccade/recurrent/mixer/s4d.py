# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""S4D: a diagonal state space model per feature, run as a convolution over whole rows and as a recurrence in decoding.

    h_t = exp(s a) * h_(t-1) + b x_t,   y_t = 2 Re(c . h_t) + w x_t,   b = (exp(s a) - 1) / a,   * by elements
    Y = Z1 * sigmoid(Z2),   [Z1 Z2] = gelu(y) Wo + d              a, c complex

Gu et al. 2022, "On the Parameterization and Initialization of Diagonal State Space Models", sections 3 and 4,
https://arxiv.org/abs/2206.11893. Each feature has its own step s, M states a, and c; b is the zero-order hold of an
input matrix of ones. The start is S4D-Lin, a_n = -1/2 + i pi n; M is half of the paper's N, as states come in
conjugate pairs. The kernel of the convolution is 2 Re sum over n of c_n b_n exp(s a_n t). s, a and c do not depend on
the input: `attention.mamba2` is a model whose step does. Causal, without cross-attention and scores; documents are
separate. Cost: 2 D^2 + D log^2 T per token, D M T for the kernel; a decoding step is D M, as is its state.
"""

import math
from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Complex, Float, Int

from saccade.axes import parameter
from saccade.module import Layer
from saccade.ops.activation import gelu
from saccade.ops.convolution import convolve_long
from saccade.ops.initializers import log_step
from saccade.ops.project import project
from saccade.ops.recurrence import Carried, time_first
from saccade.recurrent.mixer.recurrent import own_segments
from saccade.types import Activation, Capabilities, Count, Hidden, LayerContext, Part, Share

__all__ = ['S4D']


class S4D(Layer):
    """S4D mixer.

    Also called: diagonal state space model, DSS.

    Attributes:
        states: M, complex states per feature.
        activation: function of y before Wo.
        dropout: of the output.
        step_init: initialiser of log s.
        output_init: initialiser of Wo.
    """

    states: Count = 32
    activation: Part[Activation] = Part(gelu)
    dropout: Share = 0.0
    step_init: Part = Part(log_step)
    output_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False,
        cross=False,
        terms=False,
        sums=True,
        equivariant=False,
        time='B T D (D + log^2 T)',
        memory='B T D log T + D M sqrt(T)',
        state='D M',
    )
    example: ClassVar[dict[str, Any]] = {'states': 4, 'activation': {'use': 'ops.activation:gelu'}}

    @nn.compact
    def mix(
        self, x: Hidden, context: LayerContext, train: bool, state: Carried | None
    ) -> tuple[Hidden, Carried | None]:
        """Convolve whole sequences, or run the recurrence over a chunk from the state."""
        segments, D = own_segments(self, context), x.shape[-1]
        skip = parameter(self, 'skip', 'D', nn.initializers.normal(1.0), (D,), dtype=jnp.float32)
        log_decay, c = self._discretised(D)
        if state is None:
            y = convolve_long(x, segments, _kernel(x.shape[1], log_decay, c))
        else:
            y, state = _recur(x, segments, log_decay, c, state)
        y = self.activation(self.tap('read', 'B T D', (y + skip * x).astype(x.dtype)))
        y = project(y, parameter(self, 'output', 'D -> D', self.output_init(), (D, 2 * D)))
        y = jax.nn.glu(y + parameter(self, 'output_bias', 'D', nn.initializers.zeros, (2 * D,)))
        return nn.Dropout(self.dropout)(y, deterministic=not train), state

    def init_state(self, x: Hidden, capacity: int) -> Carried:
        """Return states of zeros, whose size does not depend on the capacity."""
        real, imaginary = (jnp.zeros((len(x), x.shape[-1], self.states)) for _ in range(2))
        return Carried.before((real, imaginary))

    def _discretised(self, D: int) -> tuple[Complex[Array, 'D M'], Complex[Array, 'D M']]:
        """Return s a, and c b."""

        def of_states(name: str, init: Any) -> Float[Array, 'D M']:
            return parameter(self, name, 'D X', init, (D, self.states), dtype=jnp.float32)

        step = jnp.exp(parameter(self, 'log_step', 'D', self.step_init(), (D,), dtype=jnp.float32))
        rate = jnp.exp(of_states('log_rate', nn.initializers.constant(jnp.log(0.5))))
        a = jax.lax.complex(-rate, of_states('frequency', _harmonics))
        half = nn.initializers.normal(0.5**0.5)
        c = jax.lax.complex(of_states('read_real', half), of_states('read_imaginary', half))
        return step[:, None] * a, c * jnp.expm1(step[:, None] * a) / a


def _harmonics(key: Any, shape: tuple[int, ...]) -> Float[Array, 'D M']:
    """Initialise the imaginary parts of a: pi n for state n."""
    return jnp.broadcast_to(jnp.pi * jnp.arange(shape[1], dtype=jnp.float32), shape)


def _kernel(T: int, log_decay: Complex[Array, 'D M'], c: Complex[Array, 'D M']) -> Float[Array, 'T D']:
    """Return 2 Re(c . decay^t) for t below T, from powers within a block of sqrt(T) tokens and of whole blocks."""
    size = math.isqrt(T - 1) + 1
    within = jnp.exp(log_decay * jnp.arange(size)[:, None, None])
    blocks = c * jnp.exp(log_decay * (size * jnp.arange(size))[:, None, None])
    return 2 * rearrange(jnp.einsum('CDM,tDM->CtD', blocks, within).real, 'C t D -> (C t) D')[:T]


def _recur(
    x: Hidden, segments: Int[Array, 'B T'], log_decay: Complex[Array, 'D M'], c: Complex[Array, 'D M'], state: Carried
) -> tuple[Float[Array, 'B T D'], Carried]:
    """Return 2 Re(c . h) of each token and the state after them; h sums the inputs, and c has their factor b."""
    decay = jnp.exp(log_decay)

    def step(carried: Carried, token: tuple[Array, Array]) -> tuple[Carried, Array]:
        x, segment = token

        def add(parts: tuple[Array, Array]) -> tuple[Array, Array]:
            h = decay * jax.lax.complex(*parts) + x[..., None]
            return h.real, h.imag

        carried = carried.after(add, segment)
        return carried, 2 * jnp.einsum('BDM,DM->BD', jax.lax.complex(*carried.state), c).real

    state, y = jax.lax.scan(step, state, (time_first(x.astype(jnp.float32)), time_first(segments)))
    return time_first(y), state
