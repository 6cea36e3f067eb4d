# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Extensions: more steps for a run, and their learning rate.

A schedule that falls over the whole run would jump back up if the run were simply given more steps. So the steps
that a run was started with keep their schedule, and each extension says what the rate does after them:

    launch/train.py ... --extend=constant:500     500 more steps at the rate of the last
    launch/train.py ... --extend=rewarmed:500     the rate warms up to its peak and decays once more
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
import optax

from saccade.types import UserError

__all__ = ['Held', 'Rewarmed']

_NOTHING = 1e-3  # a rate that is a smaller share of the peak trains nothing


@runtime_checkable
class Extension(Protocol):
    """Base of an extension: the learning rate after the steps that a run had.

    Attributes:
        after: steps that the run had before.
    """

    after: int

    def __call__(self, before: optax.Schedule, steps: int) -> optax.Schedule:
        """Return the schedule of a run of `steps` steps that follows another for its first `after`."""
        ...

    def words(self, before: optax.Schedule, steps: int) -> str:
        """Say what the learning rate does from step `after` to `steps`."""
        ...


@dataclass(frozen=True)
class Held:
    """Constant extension: the learning rate of the last step before, for all steps after it."""

    after: int

    @classmethod
    def of(cls, before: optax.Schedule, after: int, more: int) -> 'Held':
        """Follow a schedule.

        Raises:
            UserError: its last rate would train nothing.
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
        """Say that the learning rate stays at that of the last step before."""
        return f'the learning rate stays at {before(self.after - 1):.3g} from step {self.after} to {steps}'


@dataclass(frozen=True)
class Rewarmed:
    """Re-warming extension: the rate warms up in a straight line, then decays to `floor` along half a cosine.

    Ibrahim et al. 2024, Simple and Scalable Strategies to Continually Pre-train Large Language Models, section 4.1,
    https://arxiv.org/abs/2403.08763: re-warm to the highest rate of the training before, and re-decay to its lowest.

    Attributes:
        warmup: steps from the last rate before to the peak.
        peak: the highest learning rate.
        floor: the learning rate at the end.
    """

    after: int
    warmup: int
    peak: float
    floor: float

    @classmethod
    def of(cls, before: optax.Schedule, after: int, more: int) -> 'Rewarmed':
        """Follow a schedule: to its highest rate within a tenth of the steps, and down to its last."""
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
        """Say between which rates the learning rate rises and falls, and at which steps."""
        return (
            f'the learning rate rises from {before(self.after - 1):.3g} at step {self.after} to {self.peak:.3g} at '
            f'step {self.after + self.warmup}, and falls to {self.floor:.3g} at step {steps}'
        )


WAYS: Mapping[str, type[Held] | type[Rewarmed]] = {'constant': Held, 'rewarmed': Rewarmed}


def schedule_of(schedule: Any, extended: Sequence[Extension], steps: int) -> Any:
    """Return the learning rate by step of a run of `steps` steps in all.

    Args:
        schedule: from a number of steps to an optax schedule, as in `train.schedule`.
        extended: the extensions, in order.

    Raises:
        UserError: they are not in order, or one does not fit.
    """
    ends = _ends(extended, steps)
    whole = schedule(ends[0])
    for extension, end in zip(extended, ends[1:], strict=True):
        whole = extension(whole, end)
    return whole


def extension_lines(schedule: Any, extended: Sequence[Extension], steps: int) -> Iterator[str]:
    """Say what each extension does to the learning rate; the arguments are those of `schedule_of`."""
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
