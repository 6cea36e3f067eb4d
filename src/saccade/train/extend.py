# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Extension of a run by `--extend`, and checks of changes of its number of steps."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from saccade.train.experiment import Experiment
from saccade.train.extension_schedule import WAYS, rates_of
from saccade.train.log.log import is_finished, read
from saccade.train.setup import learning_rate
from saccade.train.workdir import Workdir
from saccade.types import UserError


def extended(config: Mapping[str, Any], asked: Sequence[str]) -> dict[str, Any]:
    """Return the config of a run with more steps.

    Args:
        asked: extensions of the form WAY:STEPS, as 'rewarmed:500'.

    Raises:
        UserError: the way is unknown, or does not fit the run.
    """
    for ask in asked:
        way, _, more = ask.partition(':')
        if way not in WAYS or not more.isdecimal() or int(more) < 1:
            raise UserError(
                f'--extend={ask}: write {" or ".join(f"{name}:STEPS" for name in WAYS)}, as in rewarmed:500'
            )
        experiment = Experiment.of(config)
        extension = WAYS[way].of(learning_rate(experiment), experiment.steps, int(more))
        spec = {'use': f'train.extension_schedule:{type(extension).__name__}', **asdict(extension)}
        config = {**config, 'steps': experiment.steps + int(more), 'extended': [*config.get('extended', ()), spec]}
    return dict(config)


def extends(there: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """True if the requested config is the recorded run's, or that with more extensions."""
    old, new = ([_in_float32(spec) for spec in config.get('extended', ())] for config in (there, asked))
    added = new[len(old) :]
    return new[: len(old)] == old and (not added or added[0]['after'] == there['steps'])


def is_under_way(workdir: Workdir, config: Mapping[str, Any], asked: Sequence[str]) -> bool:
    """Return True if the requested extensions are the last ones of a run's config, and the run has not finished them.

    Args:
        config: the recorded config of the run.
        asked: extensions of the form WAY:STEPS.
    """
    specs = config.get('extended', ())
    ways = {f'train.extension_schedule:{extension.__name__}': way for way, extension in WAYS.items()}
    ends = [*(spec['after'] for spec in specs[1:]), config['steps']]
    there = [f'{ways.get(spec["use"])}:{end - spec["after"]}' for spec, end in zip(specs, ends, strict=False)]
    return there[-len(asked) :] == list(asked) and not is_finished(read(workdir.metrics), config['steps'])


def _in_float32(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Round the rates of an extension to float32, as a run uses them, regardless of the written digits."""
    return {name: float(np.float32(value)) if isinstance(value, float) else value for name, value in spec.items()}


def require_same_rates(experiment: Experiment, steps: Any, done: int) -> None:
    """Check that another number of steps does not change the learning rates of completed steps.

    Args:
        steps: number of steps in the recorded config.
        done: number of completed steps.

    Raises:
        UserError: it changes them; the message has alternatives.
    """
    if type(steps) is not int or steps < 1:
        raise UserError(f'config.json: steps is {steps!r}, which is not a number of steps')
    if experiment.steps == steps or experiment.extended or not done:
        return
    then, now = (rates_of(learning_rate(each), done) for each in (replace(experiment, steps=steps), experiment))
    if not np.array_equal(then, now):
        more = experiment.steps - steps
        instead = f'keep --config.steps={steps} and add --extend=rewarmed:{more}' if more > 0 else f'keep {steps}'
        raise UserError(
            f'config.steps: {experiment.steps} instead of {steps}: the learning rate depends on it, and would jump at '
            f'step {done} from {then[-1]:.3g} to {now[-1]:.3g}; {instead}'
        )
