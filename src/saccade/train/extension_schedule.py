# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Extensions: more steps for a run, and their learning rate.

A schedule that decays over the whole run would jump back up if the run were simply given more steps. So the original
steps keep their schedule, and each extension defines the learning rate after them:

    launch/train.py ... --extend=constant:500     500 more steps at the last learning rate
    launch/train.py ... --extend=rewarmed:500     the learning rate warms up to its peak and decays once more
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
import optax

from saccade.types import UserError

__all__ = ['ConstantRate', 'Rewarmed']

_NOTHING = 1e-3  # a rate that is a smaller share of the peak trains nothing


@runtime_checkable
class Extension(Protocol):
    """Base of an extension: the learning rate after the original steps of a run.

    Attributes:
        after: number of steps that the run had before.
    """

    after: int

    def __call__(self, before: optax.Schedule, steps: int) -> optax.Schedule:
        """Return the schedule of a run of `steps` steps whose first `after` steps follow another schedule."""
        ...

    def words(self, before: optax.Schedule, steps: int) -> str:
        """Return a description of the learning rate from step `after` to `steps`."""
        ...


@dataclass(frozen=True)
class ConstantRate:
    """Constant extension: the last learning rate, for all further steps."""

    after: int

    @classmethod
    def of(cls, before: optax.Schedule, after: int, more: int) -> 'ConstantRate':
        """Return the extension of a schedule.

        Raises:
            UserError: its last learning rate would train nothing.
        """
        rates = rates_of(before, after)
        if rates[-1] < _NOTHING * rates.max():
            raise UserError(
                f'--extend=constant:{more}: the learning rate has fallen to {rates[-1]:.2g} at step {after}, which '
                f'would train nothing; write --extend=rewarmed:{more}'
            )
        return cls(after)

    def __call__(self, before: optax.Schedule, steps: int) -> optax.Schedule:
        return optax.join_schedules([before, optax.constant_schedule(before(self.after - 1))], [self.after])

    def words(self, before: optax.Schedule, steps: int) -> str:
        """Return a description of the constant learning rate."""
        return f'the learning rate stays at {before(self.after - 1):.3g} from step {self.after} to {steps}'


@dataclass(frozen=True)
class Rewarmed:
    """Re-warming extension: the learning rate warms up linearly, then decays to `floor` along half a cosine.

    Ibrahim et al. 2024, Simple and Scalable Strategies to Continually Pre-train Large Language Models, section 4.1,
    https://arxiv.org/abs/2403.08763: re-warm to the maximum of the previous training, and re-decay to its minimum.

    Attributes:
        warmup: steps from the last learning rate to the peak.
        peak: maximum learning rate.
        floor: final learning rate.
    """

    after: int
    warmup: int
    peak: float
    floor: float

    @classmethod
    def of(cls, before: optax.Schedule, after: int, more: int) -> 'Rewarmed':
        """Return the extension of a schedule: to its maximum in a tenth of the steps, then to its last value."""
        rates = rates_of(before, after)
        peak, floor = (float(str(rate)) for rate in (rates.max(), rates[-1]))  # in float32's digits: 0.001
        return cls(after, more // 10, peak, floor)

    def __call__(self, before: optax.Schedule, steps: int) -> optax.Schedule:
        """Return the schedule of a run of `steps` steps.

        Raises:
            UserError: the steps leave none for the decay.
        """
        decay = steps - self.after - self.warmup
        if decay <= 0:
            raise UserError(f'extended: {self.warmup} warmup steps leave none of {steps - self.after} for the cosine')
        last = before(self.after - 1)
        first = last + (self.peak - last) / (self.warmup + 1)
        rise = optax.linear_schedule(first, self.peak, self.warmup) if self.warmup else before
        fall = optax.cosine_decay_schedule(self.peak, decay, alpha=self.floor / self.peak)
        return optax.join_schedules([before, rise, fall], [self.after, self.after + self.warmup])

    def words(self, before: optax.Schedule, steps: int) -> str:
        """Return a description of the warmup and the decay."""
        return (
            f'the learning rate rises from {before(self.after - 1):.3g} at step {self.after} to {self.peak:.3g} at '
            f'step {self.after + self.warmup}, and falls to {self.floor:.3g} at step {steps}'
        )


WAYS: Mapping[str, type[ConstantRate] | type[Rewarmed]] = {'constant': ConstantRate, 'rewarmed': Rewarmed}


def schedule_of(schedule: Any, extended: Sequence[Extension], steps: int) -> Any:
    """Return the learning rate by step for a run of `steps` steps in all.

    Args:
        schedule: function from a number of steps to an optax schedule, as in `train.schedule`.
        extended: extensions, in order.

    Raises:
        UserError: they are not in order, or one does not fit.
    """
    ends = _ends(extended, steps)
    whole = schedule(ends[0])
    for extension, end in zip(extended, ends[1:], strict=True):
        whole = extension(whole, end)
    return whole


def extension_lines(schedule: Any, extended: Sequence[Extension], steps: int) -> Iterator[str]:
    """Yield a description of each extension; the arguments are as in `schedule_of`."""
    ends = _ends(extended, steps)
    for number, (extension, end) in enumerate(zip(extended, ends[1:], strict=True)):
        before = schedule_of(schedule, extended[:number], ends[number])
        yield f'extended    {extension.words(before, end)}'


def _ends(extended: Sequence[Extension], steps: int) -> list[int]:
    ends = [*(extension.after for extension in extended), steps]
    if ends != sorted(set(ends)):
        raise UserError(f'config.extended: extensions after {ends[:-1]} of {steps} steps are not in order')
    return ends


def rates_of(schedule: optax.Schedule, steps: int) -> np.ndarray:
    """Return the learning rates of the first `steps` steps."""
    return np.asarray(jax.vmap(schedule)(jnp.arange(steps)), np.float32)
