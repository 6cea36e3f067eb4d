# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Extension of a run by `--extend`: which changes of its steps are allowed, and which are refused."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from saccade.train.experiment import Experiment
from saccade.train.extension import WAYS, rates_of
from saccade.train.setup import learning_rate
from saccade.types import UserError


def extended(config: Mapping[str, Any], asked: Sequence[str]) -> dict[str, Any]:
    """Return the config of a run with more steps.

    Args:
        asked: of the form WAY:STEPS, as 'rewarmed:500'.

    Raises:
        UserError: there is no such way, or it does not fit the run.
    """
    for ask in asked:
        way, _, more = ask.partition(':')
        if way not in WAYS or not more.isdecimal() or int(more) < 1:
            raise UserError(
                f'--extend={ask}: write {" or ".join(f"{name}:STEPS" for name in WAYS)}, as in rewarmed:500'
            )
        experiment = Experiment.of(config)
        extension = WAYS[way].of(learning_rate(experiment), experiment.steps, int(more))
        spec = {'use': f'train.extension:{type(extension).__name__}', **asdict(extension)}
        config = {**config, 'steps': experiment.steps + int(more), 'extended': [*config.get('extended', ()), spec]}
    return dict(config)


def extends(there: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether what is asked for is the run that is there, or that with more extensions."""
    old, new = ([_in_float32(spec) for spec in config.get('extended', ())] for config in (there, asked))
    added = new[len(old) :]
    return new[: len(old)] == old and (not added or added[0]['after'] == there['steps'])


def _in_float32(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Round the rates of an extension, which a run takes in float32, however many digits of them were written."""
    return {name: float(np.float32(value)) if isinstance(value, float) else value for name, value in spec.items()}


def require_same_rates(experiment: Experiment, steps: Any, done: int) -> None:
    """Refuse other steps for a run whose learning rates of the steps that were taken follow from their number.

    Args:
        steps: that the run had.
        done: that it has taken.

    Raises:
        UserError: so it is; what would do is named.
    """
    if type(steps) is not int or steps < 1:
        raise UserError(f'config.json: steps is {steps!r}, which is no number of steps')
    if experiment.steps == steps or experiment.extended or not done:
        return
    then, now = (rates_of(learning_rate(each), done) for each in (replace(experiment, steps=steps), experiment))
    if not np.array_equal(then, now):
        more = experiment.steps - steps
        instead = f'keep --config.steps={steps} and add --extend=rewarmed:{more}' if more > 0 else f'keep {steps}'
        raise UserError(
            f'config.steps: {experiment.steps} asked for, {steps} there: the learning rate follows from it, and that '
            f'of step {done} would jump from {then[-1]:.3g} to {now[-1]:.3g}; {instead}'
        )
