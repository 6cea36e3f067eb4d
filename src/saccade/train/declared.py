# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations of all metrics that a run may log, the metric that ranks its checkpoints, and those that end it."""

import math
from dataclasses import replace
from typing import Any

from saccade.nearest import nearest
from saccade.train.experiment import Experiment
from saccade.train.learner import Learner
from saccade.train.log.declarations import Declarations
from saccade.train.meter import Meter
from saccade.train.plan import RunPlan
from saccade.types import Evaluator, Metric, UserError


def declared(experiment: Experiment) -> Declarations:
    """Collect the metrics declared by the task, its data, the parts of the model and training itself.

    Raises:
        UserError: the task evaluates predictions, and makes none.
    """
    task, baseline = experiment.task(), experiment.baseline
    if hasattr(task, 'evaluate') and not isinstance(task, Evaluator):
        raise UserError(f'{experiment.task.name} has evaluate, which needs predict as well, for its predictions')
    parts = [part.target for part in (*experiment.model.walk(), *(baseline.walk() if baseline else ()))]
    owners = [Learner, Meter, RunPlan, *parts, experiment.data(), task]
    found = [metric for owner in owners for metric in reports_of(owner)]
    metrics = {metric.name: metric for metric in (*found, *reports_of(task, 'evaluates'))}
    if bare := getattr(task, 'bare', ''):
        metrics.setdefault(bare, replace(metrics['loss'], name=bare))
    return Declarations(experiment.keep_best_by or getattr(task, 'best_by', 'loss'), metrics)


def reports_of(owner: Any, kind: str = 'reports') -> tuple[Metric, ...]:
    """Return the declared metrics of a class, a function or an object; an empty tuple without any."""
    found = getattr(owner, kind, ())
    return found if isinstance(found, tuple) else ()


def ranking(experiment: Experiment) -> Metric:
    """Return the metric that ranks the checkpoints of a run.

    Raises:
        UserError: it is not declared, has no better direction, or depends on the whole split although evaluations
            during training cover only a part of it.
    """
    found = declared(experiment)
    where = f"config.keep_best_by: '{found.best_by}'"
    metric = _directed(found, found.best_by, where, 'rank checkpoints')
    if metric.among == 'split' and experiment.eval_batches and experiment.keep_best:
        raise UserError(
            f'{where} depends on all rows of the split, but config.eval_batches evaluates only a part during '
            'training: set eval_batches=0, or keep_best_by=loss'
        )
    return metric


def targets(experiment: Experiment) -> dict[Metric, int | float]:
    """Return the metrics of `stop_at` with their values.

    Raises:
        UserError: a metric is not declared, has no better direction, cannot have the value, or depends on the whole
            split although evaluations during training cover only a part of it.
    """
    found = declared(experiment)
    return {_target(experiment, found, name, value): value for name, value in experiment.stop_at}


def _target(experiment: Experiment, found: Declarations, name: str, value: int | float) -> Metric:
    where = f"config.stop_at: '{name}'"
    metric = _directed(found, name, where, 'end a run')
    low = -math.inf if metric.low is None else metric.low
    high = math.inf if metric.high is None else metric.high
    if not low <= value <= high:
        raise UserError(f'{where} is between {low:g} and {high:g}, so it cannot be {value:g}')
    if metric.among == 'split' and experiment.eval_batches:
        raise UserError(
            f'{where} depends on all rows of the split, but config.eval_batches evaluates only a part during '
            'training: set eval_batches=0'
        )
    return metric


def _directed(found: Declarations, name: str, where: str, use: str) -> Metric:
    """Return the declaration of a metric that has a better direction."""
    metric = found.metrics.get(name)
    if metric is None:
        ranks = [name for name, each in found.metrics.items() if each.best]
        raise UserError(f'{where}: no part of the config declares this metric{nearest(name, ranks)}')
    if metric.best is None:
        raise UserError(f'{where} cannot {use}: neither its lowest nor its highest value is best')
    return metric
