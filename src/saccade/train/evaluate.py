# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of a model over a whole split, summed exactly."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from saccade.data.pipeline import eval_batches, random_windows
from saccade.data.text import Prepared, Split, bits_per_byte
from saccade.train.experiment import Experiment, cache_folder
from saccade.train.learner import cast
from saccade.train.trained import open_run
from saccade.train.workdir import Workdir
from saccade.types import Params, Total

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
        baseline: bits per byte of the experiment's baseline; None where it has none.
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

    @property
    def logged(self) -> dict[str, float]:
        """What a run's log keeps of it."""
        return {**self.metrics, 'bits_per_byte': self.bits_per_byte}

    def lines(self) -> list[str]:
        """The evaluation in words."""
        estimate = [] if self.estimate is None else [f'estimate        {self.estimate:.4f} nats on random windows']
        rest = [f'{name:16s}{value:.4f}' for name, value in self.metrics.items() if name != 'loss']
        beside = '' if self.baseline is None else f'   (baseline: {self.baseline:.4f})'
        return [
            f'step            {self.step}, {self.split}, {self.targets:,} targets',
            f'loss            {self.loss:.4f} nats a token',
            *estimate,
            f'perplexity      {self.perplexity:.3f}',
            f'bits per byte   {self.bits_per_byte:.4f}{beside}',
            *rest,
        ]


@dataclass(frozen=True)
class Asked:
    """How a run is to be evaluated.

    Attributes:
        which: checkpoint.
        windows: random ones of the split to estimate the loss on too, as nanoGPT does.
        length: of a sequence in tokens; 0 for that of training.
    """

    which: Literal['latest', 'best'] = 'latest'
    split: str = 'validation'
    windows: int = 0
    length: int = 0


def evaluate_run(path: str, asked: Asked) -> Evaluation:
    """Evaluate a run's checkpoint over a whole split, on one device.

    Raises:
        UserError: there is no run in this folder, its data is gone, or its model cannot serve the length.
    """
    trained = open_run(path, asked.which)
    experiment = Experiment.of(trained.config)
    if asked.length:
        experiment = experiment.at_length(asked.length)
    prepared = experiment.data().prepare(cache_folder(), Workdir.existing(path).tokenizer)
    score, split, rows = _scorer(experiment, trained.params), prepared.splits[asked.split], experiment.batch_size
    found = evaluation(trained.step, asked.split, split, evaluate(score, eval_batches(split, rows)))
    batches = random_windows(split, rows, asked.windows, experiment.seed) if asked.windows else None
    sampled = evaluate(score, batches)['loss'] if batches else None
    baseline = baseline_of(experiment, prepared)
    return replace(found, baseline=baseline and baseline.bits_per_byte, estimate=sampled)


def evaluate_lengths(experiment: Experiment, params: Params, tokenizer: Path, step: int) -> Iterator[Evaluation]:
    """Evaluate parameters at each of the experiment's lengths, on as many tokens as in training, on one device."""
    for length in experiment.eval_lengths:
        other = experiment.at_length(length)
        split = other.data().prepare(cache_folder(), tokenizer).splits['validation']
        batches = eval_batches(split, other.batch_size, limit=experiment.eval_batches or None)
        metrics = evaluate(_scorer(other, params), batches)
        yield evaluation(step, f'validation_{length}', split, metrics)


def evaluation(step: int, name: str, split: Split, metrics: dict[str, float]) -> Evaluation:
    """Derive perplexity and bits per byte from the mean loss of a split."""
    loss = metrics['loss']
    perplexity = math.exp(min(loss, 700.0))
    return Evaluation(step, name, split.targets, loss, perplexity, bits_per_byte(loss, split), metrics)


def baseline_of(experiment: Experiment, prepared: Prepared, step: int = 0) -> Evaluation | None:
    """Evaluate the experiment's baseline on the validation split; None where it has none."""
    if experiment.baseline is None:
        return None
    train, validation = prepared.splits['train'], prepared.splits['validation']
    nats = experiment.baseline(train, validation, prepared.tokenizer.size)
    return evaluation(step, 'baseline', validation, {'loss': nats})


def _scorer(experiment: Experiment, params: Params) -> Callable[[Rows], Any]:
    task, model = experiment.task(), experiment.model()
    params = cast(params, experiment.dtype)

    @jax.jit
    def score(params: Any, rows: Any) -> Any:
        return task.loss(model, params, rows, jax.random.key(0), False)

    return partial(score, params)
