# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of a model over a whole split, summed exactly."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import jax
import numpy as np

from saccade.data.pipeline import eval_batches, random_windows
from saccade.data.text import Prepared, Split, bits_per_byte
from saccade.train.experiment import Experiment, cache_folder
from saccade.train.trained import Trained, open_run
from saccade.train.workdir import Workdir
from saccade.types import Total

Rows = Mapping[str, np.ndarray]


def evaluate(score: Callable[[Rows], Mapping[str, Total]], batches: Iterator[Rows]) -> dict[str, float]:
    """Return the mean of each of the totals over all batches; the sums are in float64."""
    sums: dict[str, np.ndarray] = {}
    for rows in batches:
        for name, total in score(rows).items():
            sums[name] = sums.get(name, np.zeros(2)) + np.array([total.total, total.weight], np.float64)
    return {name: float(total / weight) if weight else math.nan for name, (total, weight) in sums.items()}


@dataclass(frozen=True)
class Evaluation:
    """Metrics of a split.

    Attributes:
        targets: tokens of the split that are predicted.
        loss: nats a target.
        metrics: the task's means by name, `loss` among them.
        baseline: the experiment's baseline in bits per byte; None where it has none.
        estimate: the loss on random windows, where that was asked for.
    """

    step: int
    split: str
    targets: int
    loss: float
    perplexity: float
    bits_per_byte: float
    metrics: dict[str, float]
    baseline: float | None = None
    estimate: float | None = None

    def lines(self) -> list[str]:
        """The evaluation in words."""
        estimate = [] if self.estimate is None else [f'estimate        {self.estimate:.4f} nats on random windows']
        rest = [f'{name:16s}{value:.4f}' for name, value in self.metrics.items() if name != 'loss']
        beside = '' if self.baseline is None else f'   (trigram model of the same tokens: {self.baseline:.4f})'
        return [
            f'step            {self.step}, {self.split}, {self.targets:,} targets',
            f'loss            {self.loss:.4f} nats a token',
            *estimate,
            f'perplexity      {self.perplexity:.3f}',
            f'bits per byte   {self.bits_per_byte:.4f}{beside}',
            *rest,
        ]


def evaluate_run(
    path: str, which: Literal['latest', 'best'] = 'latest', split: str = 'validation', windows: int = 0
) -> Evaluation:
    """Evaluate a run's checkpoint over a whole split, on one device, and on so many random windows of it.

    Raises:
        UserError: there is no run in this folder, or its data is gone.
    """
    trained = open_run(path, which)
    experiment = Experiment.of(trained.config)
    prepared = experiment.data().prepare(cache_folder(), Workdir.existing(path).tokenizer)
    score, chosen, rows = _scorer(experiment, trained), prepared.splits[split], experiment.batch_size
    found = evaluation(trained.step, split, chosen, evaluate(score, eval_batches(chosen, rows)))
    sampled = evaluate(score, random_windows(chosen, rows, windows, experiment.seed))['loss'] if windows else None
    return replace(found, baseline=baseline_bits(experiment, prepared), estimate=sampled)


def evaluation(step: int, name: str, split: Split, metrics: dict[str, float]) -> Evaluation:
    """Derive perplexity and bits per byte from the mean loss of a split."""
    loss = metrics['loss']
    perplexity = math.exp(min(loss, 700.0))
    return Evaluation(step, name, split.targets, loss, perplexity, bits_per_byte(loss, split), metrics)


def baseline_bits(experiment: Experiment, prepared: Prepared) -> float | None:
    """Bits per byte of the experiment's baseline on the validation split."""
    if experiment.baseline is None:
        return None
    train, validation = prepared.splits['train'], prepared.splits['validation']
    return bits_per_byte(experiment.baseline(train, validation, prepared.tokenizer.size), validation)


def _scorer(experiment: Experiment, trained: Trained) -> Callable[[Rows], Any]:
    task = experiment.task()
    params = jax.tree.map(lambda leaf: leaf.astype(experiment.dtype), trained.params)

    @jax.jit
    def score(params: Any, rows: Any) -> Any:
        return task.loss(trained.model, params, rows, jax.random.key(0), False)

    return partial(score, params)
