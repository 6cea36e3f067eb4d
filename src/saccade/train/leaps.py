# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Steps whose loss or gradient leaps are skipped: parameters and moments stay as they are.

    --config.optimizer.skip="{'use': 'train.leaps:SkipLeaps'}"

Groeneveld et al. 2025, "2 OLMo 2 Furious", https://arxiv.org/abs/2501.00656, train with such an optimizer
(`SkipStepOptimizer` of OLMo-core, whose window and factor are the defaults). The window is in the optimizer's state, so
a resumed run skips the same steps. Losses and gradients are computed over the whole batch, equal on all processes.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.train.optimizer import is_gradient
from saccade.types import Count, Params, Positive, Scales

__all__ = ['SkipLeaps']


class LeapState(NamedTuple):
    """State of an optimizer that skips steps.

    Attributes: losses and gradient norms of the last finite steps, oldest first, NaN where there was none yet; number
    of skipped steps; state of the optimizer itself.
    """

    window: Float[Array, 'W 2']
    skipped: Int[Array, '']
    inner: PyTree


@dataclass(frozen=True)
class SkipLeaps:
    """Skip a step if its loss or the norm of its gradient is far above the last ones, or not finite.

    It is far above if it exceeds their mean by so many of their standard deviations. The window holds skipped steps
    too, so that a lasting change is accepted after a while. No finite step is skipped before the window is half full.

    Attributes:
        window: number of steps that a step is compared with.
        deviations: largest distance from their mean, in standard deviations.
    """

    window: Count = 128
    deviations: Scales[Positive] = 6.0

    def __call__(self, optimizer: optax.GradientTransformation) -> optax.GradientTransformationExtraArgs:
        """Return the optimizer with steps skipped; its update takes the loss of the step, `value`."""
        optimizer = optax.with_extra_args_support(optimizer)

        def init(params: Params) -> LeapState:
            return LeapState(jnp.full((self.window, 2), jnp.nan), jnp.zeros((), jnp.int32), optimizer.init(params))

        def update(
            updates: PyTree, state: LeapState, params: PyTree = None, *, value: Float[Array, ''], **others: Any
        ) -> tuple[PyTree, LeapState]:
            counted = jax.tree.map(lambda leaf, counts: leaf if counts else None, updates, is_gradient(updates))
            found = jnp.stack((value, optax.tree.norm(counted))).astype(jnp.float32)
            skip = self._leaps(found, state.window)
            moved, inner = optimizer.update(updates, state.inner, params, value=value, **others)
            moved, inner = jax.tree.map(
                lambda new, old: jnp.where(skip, old, new), (moved, inner), (optax.tree.zeros_like(moved), state.inner)
            )
            later = jnp.concatenate((state.window[1:], found[None]))
            window = jnp.where(jnp.isfinite(found).all(), later, state.window)
            return moved, LeapState(window, state.skipped + skip, inner)

        return optax.GradientTransformationExtraArgs(init, update)

    def _leaps(self, found: Float[Array, '2'], window: Float[Array, 'W 2']) -> Bool[Array, '']:
        known = jnp.isfinite(window).all(-1).sum()
        limit = jnp.nanmean(window, 0) + self.deviations * jnp.nanstd(window, 0, ddof=1)
        far = (found > limit).any() & (known >= max(2, self.window // 2))
        return far | ~jnp.isfinite(found).all()
