# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Learning-rate schedules: config parts that return an optax schedule, given the total number of steps.

An optax schedule maps the number of updates already made, 0 at the first, to a learning rate. Warmup is
linear and wastes no step on a rate of zero: the rate is peak * (step + 1) / (warmup + 1) up to step = warmup.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import optax

from saccade.types import Count, CountOrZero, NotNegative, Positive, UserError

__all__ = ['Constant', 'Cosine', 'InverseSqrt', 'WarmupStableDecay']


@dataclass(frozen=True)
class Cosine:
    """Cosine schedule: warm up to `peak`, then fall to `floor` along half a cosine.

    Loshchilov & Hutter 2017, SGDR: Stochastic Gradient Descent with Warm Restarts, equation 5, without
    restarts, https://arxiv.org/abs/1608.03983. With `decay_steps` for lr_decay_iters and `floor` for min_lr
    it is nanoGPT's schedule now that its warmup is (step + 1) / (warmup + 1); it once was step / warmup.

    Attributes:
        peak: the highest learning rate.
        warmup: steps before the peak.
        floor: the learning rate at the end, and after it.
        decay_steps: the step that reaches the floor. None: the last of the run.
    """

    peak: Positive
    warmup: CountOrZero
    floor: NotNegative = 0.0
    decay_steps: Count | None = None

    def __call__(self, steps: int) -> optax.Schedule:
        """Return the schedule of a run of `steps` steps.

        Raises:
            UserError: a rate or a number of steps is out of range.
        """
        _check_rates(self.peak, self.floor)
        end = steps if self.decay_steps is None else self.decay_steps
        if end <= self.warmup:
            raise UserError(f'schedule: {self.warmup} warmup steps leave none of {end} steps for the cosine')
        fall = optax.cosine_decay_schedule(self.peak, end - self.warmup, alpha=self.floor / self.peak)
        return _after_warmup(self.peak, self.warmup, fall)


@dataclass(frozen=True)
class InverseSqrt:
    """Inverse-square-root schedule: warm up, then fall as the inverse square root of the step n = 1, 2, ...

    rate = scale * D^-0.5 * min(n^-0.5, n * warmup^-1.5); at n = warmup it peaks at scale * (D * warmup)^-0.5.
    Vaswani et al. 2017, Attention Is All You Need, section 5.3, equation 3, https://arxiv.org/abs/1706.03762.

    Attributes:
        width: model width (D).
        warmup: steps up to and including the peak.
        scale: multiplies every rate.
    """

    width: Count
    warmup: Count
    scale: Positive = 1.0

    def __call__(self, steps: int) -> optax.Schedule:
        """Return the schedule, which is the same for any number of `steps`."""
        factor = self.scale * self.width**-0.5

        def schedule(count):
            step = jnp.asarray(count + 1, jnp.float32)
            return factor * jnp.minimum(step**-0.5, step * self.warmup**-1.5)

        return schedule


@dataclass(frozen=True)
class WarmupStableDecay:
    """Warmup-stable-decay schedule: warm up to `peak`, stay, and fall linearly to `floor` over the last `decay` steps.

    Hu et al. 2024, MiniCPM: Unveiling the Potential of Small Language Models with Scalable Training
    Strategies, section 4.2, https://arxiv.org/abs/2404.06395. The paper leaves the shape of the fall open and
    uses an exponential; ours is a line.

    Attributes:
        peak: the highest learning rate.
        warmup: steps before the peak.
        decay: steps of the fall.
        floor: the learning rate after the last step.
    """

    peak: Positive
    warmup: CountOrZero
    decay: Count
    floor: NotNegative = 0.0

    def __call__(self, steps: int) -> optax.Schedule:
        """Return the schedule of a run of `steps` steps.

        Raises:
            UserError: a rate or a number of steps is out of range.
        """
        _check_rates(self.peak, self.floor)
        if self.warmup + self.decay > steps:
            raise UserError(f'schedule: warmup {self.warmup} and decay {self.decay} do not fit in {steps} steps')
        fall = optax.linear_schedule(self.peak, self.floor, self.decay, steps - self.decay - self.warmup)
        return _after_warmup(self.peak, self.warmup, fall)


@dataclass(frozen=True)
class Constant:
    """Constant schedule: warm up to `peak` and stay there.

    Attributes:
        peak: the learning rate.
        warmup: steps before it is reached.
    """

    peak: Positive
    warmup: CountOrZero = 0

    def __call__(self, steps: int) -> optax.Schedule:
        """Return the schedule, which is the same for any number of `steps`.

        Raises:
            UserError: the rate or the warmup is out of range.
        """
        _check_rates(self.peak, 0.0)
        return _after_warmup(self.peak, self.warmup, optax.constant_schedule(self.peak))


def _after_warmup(peak: float, warmup: int, schedule: optax.Schedule) -> optax.Schedule:
    if warmup == 0:
        return schedule
    rise = optax.linear_schedule(peak / (warmup + 1), peak, warmup)
    return optax.join_schedules([rise, schedule], [warmup])


def _check_rates(peak: float, floor: float) -> None:
    if floor > peak:
        raise UserError(f'schedule.floor: must be at most the peak {peak}, not {floor}')
