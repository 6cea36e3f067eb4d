# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Universal Transformer with halting: a layer is applied to a token until its halting probabilities sum to 1 (ACT).

    p_t = sigmoid(x_t w + b);   x_(t+1) = layer(x_t + e_t);   y = sum over t <= N of a_t x_(t+1),   a_t = p_t, a_N = R

Dehghani et al. 2019, "Universal Transformers", section 2.2 and appendix C, https://arxiv.org/abs/1807.03819; Graves
2016, "Adaptive Computation Time for Recurrent Neural Networks", equations 5 to 13, https://arxiv.org/abs/1603.08983. N
is the first pass after which the p sum to 1 - epsilon, or the last; R = 1 - the earlier p. A halted token keeps its
state, which later passes of others read. The loss adds `ponder` times the mean of N + R. Here the output is Graves's
weighted sum, e_t is trained, and positions are added once, by the model. All passes are computed for all tokens, so
halting saves no time. Cost: that of as many layers as there are passes; one decoding state per pass.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.block.pre_norm import PreNorm
from saccade.ops.padding import token_total
from saccade.ops.project import project
from saccade.types import Count, Hidden, LayerContext, Metric, NotNegative, Pages, Part, Share, Source, State

__all__ = ['Halting']


class Halting(PreNorm):
    """Block of a Universal Transformer with halting; a model of it has one layer.

    Attributes: the attributes of PreNorm, which are those of the repeated layer, and
        passes: maximum number of passes.
        epsilon: a token halts when its probabilities sum to 1 - epsilon.
        ponder: weight of the ponder loss.
        bias: initial b; 1 in the authors' code.
        halt_init: initialiser of w.
        step_init: initialiser of e.
    """

    identity: ClassVar[bool] = False  # e is added to the input

    passes: Count
    epsilon: Share = 0.01
    ponder: NotNegative = 0.01
    bias: float = 1.0
    halt_init: Part = Part(nn.initializers.lecun_normal)
    step_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    reports: ClassVar[tuple[Metric, ...]] = (Metric('passes', 'lowest', 0.0),)
    example: ClassVar[dict[str, Any]] = {'passes': 2}

    def setup(self) -> None:
        """Create the repeated layer."""
        self.layer = self._layer()

    @nn.compact
    def mix(
        self, x: Hidden, context: LayerContext, train: bool, state: tuple[State, ...] | None
    ) -> tuple[Hidden, tuple[State, ...]]:
        """Apply the layer until each token has halted; return the weighted sum of its outputs."""
        D = x.shape[-1]
        steps = parameter(self, 'step', 'X D', self.step_init(), (self.passes, D))
        kernel = parameter(self, 'halt', 'D -> X', self.halt_init(), (D, 1), dtype=jnp.float32)
        bias = parameter(self, 'halt_bias', '', nn.initializers.constant(self.bias), (), dtype=jnp.float32)
        y, states = jnp.zeros(x.shape, jnp.float32), []
        sums, passes, ponder = (jnp.zeros(x.shape[:2]) for _ in range(3))
        running = jnp.ones(x.shape[:2], bool)
        for number in range(self.passes):
            p = jax.nn.sigmoid(project(x.astype(jnp.float32), kernel)[..., 0] + bias)
            made, after = self.layer.mix(x + steps[number], context, train, None if state is None else state[number])
            halts = running & ((sums + p > 1.0 - self.epsilon) | (number == self.passes - 1))
            share = jnp.where(halts, 1.0 - sums, jnp.where(running, p, 0.0))
            y = y + share[..., None] * made
            passes, ponder = passes + running, ponder + running + jnp.where(halts, share, 0.0)
            x = jnp.where(running[..., None], made, x)
            sums, running = sums + share, running & ~halts
            states.append(after)
        real = context.numbered != 0
        self.sow('metrics', 'passes', token_total(passes, real))
        if self.ponder:
            self.sow('losses', 'ponder', token_total(ponder, real).times(self.ponder))
        return y.astype(x.dtype), tuple(states)

    def init_state(self, x: Hidden, capacity: int, source: Source | None = None) -> tuple[State, ...]:
        """Return the layer's initial state for `capacity` tokens per row, for each pass."""
        layer = self._layer(parent=None) if source is None else self.layer  # without a source a stack does not bind it
        return tuple(layer.init_state(x, capacity, source) for _ in range(self.passes))

    def init_pages(self, x: Hidden, pages: Pages) -> tuple[State, ...]:
        """Return the layer's initial state for decoding with a pool of pages, for each pass."""
        return tuple(self._layer(parent=None).init_pages(x, pages) for _ in range(self.passes))

    def _layer(self, **place: Any) -> PreNorm:
        fields = ('mixer', 'feedforward', 'norm', 'norms', 'cross', 'branch_scale')
        return PreNorm(**{name: getattr(self, name) for name in fields}, **place)
