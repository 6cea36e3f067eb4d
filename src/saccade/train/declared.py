# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations of all that a run may log, and the metric by which its checkpoints are ranked."""

from dataclasses import replace
from typing import Any

from saccade.nearest import nearest
from saccade.train.experiment import Experiment
from saccade.train.learner import Learner
from saccade.train.log.declarations import Declarations
from saccade.train.meter import Meter
from saccade.train.plan import Plan
from saccade.types import Metric, UserError


def declared(experiment: Experiment) -> Declarations:
    """Collect what the task, its data, the parts of the model and training itself declare."""
    task, baseline = experiment.task(), experiment.baseline
    parts = [part.target for part in (*experiment.model.walk(), *(baseline.walk() if baseline else ()))]
    owners = [Learner, Meter, Plan, *parts, experiment.data(), task]
    found = [metric for owner in owners for metric in reports_of(owner)]
    metrics = {metric.name: metric for metric in (*found, *reports_of(task, 'evaluates'))}
    if bare := getattr(task, 'bare', ''):
        metrics.setdefault(bare, replace(metrics['loss'], name=bare))
    return Declarations(experiment.keep_best_by or getattr(task, 'best_by', 'loss'), metrics)


def reports_of(owner: Any, kind: str = 'reports') -> tuple[Metric, ...]:
    """Return what a class, a function or an object declares; nothing where it declares nothing."""
    found = getattr(owner, kind, ())
    return found if isinstance(found, tuple) else ()


def ranking(experiment: Experiment) -> Metric:
    """Return the metric by which the checkpoints of a run are ranked.

    Raises:
        UserError: it is not declared, neither of its ends is best, or evaluations during training see a part of the
            split that it depends on.
    """
    found = declared(experiment)
    where, metric = f"config.keep_best_by: '{found.best_by}'", found.metrics.get(found.best_by)
    if metric is None:
        ranks = [name for name, each in found.metrics.items() if each.best]
        raise UserError(f'{where}: no part of the config declares such a metric{nearest(found.best_by, ranks)}')
    if metric.best is None:
        raise UserError(f'{where} ranks nothing: neither its lowest nor its highest value is best')
    if metric.among == 'split' and experiment.eval_batches and experiment.keep_best:
        raise UserError(
            f'{where} depends on all rows of the split, and config.eval_batches evaluates a part of it '
            'during training: set eval_batches=0, or keep_best_by=loss'
        )
    return metric
