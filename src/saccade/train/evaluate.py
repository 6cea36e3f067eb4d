# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluation of a model over a whole split, with totals summed in float64."""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_type_hints

import jax
import numpy as np

from saccade.data.pipeline import eval_batches, random_windows
from saccade.data.split import Prepared, Split
from saccade.decode.predict import predictions
from saccade.nearest import listed
from saccade.paths import expanded
from saccade.train.backend import Backend
from saccade.train.config import PREFIX, overridden
from saccade.train.declared import declared
from saccade.train.digests import prepare, prepare_again, prepare_other
from saccade.train.experiment import Experiment, cache_folder
from saccade.train.initial import Initial, in_dtype
from saccade.train.predicting import class_names
from saccade.train.scales import scales_of
from saccade.train.start import require_architecture, start_from
from saccade.train.trained import config_of, open_run, verified_folder
from saccade.train.workdir import Workdir
from saccade.types import Estimate, Evaluator, HeldOut, Params, Part, Processor, Total, UserError

_LOG = logging.getLogger(__name__)
Rows = Mapping[str, np.ndarray]
_NUMBER = '_number'  # row index, added to the arrays of a row


def evaluate(score: Callable[[Rows], Mapping[str, Total]], batches: Iterator[Rows]) -> dict[str, float]:
    """Return the mean of each total over all batches; sums are in float64."""
    sums: dict[str, np.ndarray] = {}
    for rows in batches:
        for name, total in score(rows).items():
            sums[name] = sums.get(name, 0.0) + np.array([total.total, total.weight], np.float64).reshape(2, -1)
    return {name: _mean(*sum_of_terms) for name, sum_of_terms in sums.items()}


def _mean(total: np.ndarray, weight: np.ndarray) -> float:
    """Return the mean as in `Total.mean`; NaN if all weights are 0."""
    there = weight > 0
    return float((total[there] / weight[there]).sum()) if there.any() else math.nan


@dataclass(frozen=True)
class Evaluation:
    """Evaluation of a split: its metrics, their intervals and the baseline.

    Attributes:
        targets: number of targets in the split, counted in `unit`.
        metrics: means by name, including `loss`, and derived metrics.
        intervals: 95% confidence intervals over the examples, for metrics that a task evaluates per example.
        baseline: metrics of the experiment's baseline; None if there is none.
        baseline_name: import path of the baseline, as in `config.baseline.use`; None if there is none.
        estimate: loss on random windows, if requested.
        units: of metrics that declare one, by name.
        signatures: of metrics with several variants, so that others can compute the same one.
    """

    step: int
    split: str
    targets: int
    unit: str
    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    baseline: dict[str, float] | None = None
    estimate: float | None = None
    units: dict[str, str] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    baseline_name: str | None = None

    def compared(self, baseline: 'Evaluation | None', part: Part | None) -> 'Evaluation':
        """Return the evaluation with the metrics and the name of a baseline, if there is one."""
        return self if baseline is None else replace(self, baseline=baseline.metrics, baseline_name=part.name)

    def record(self) -> dict[str, Any]:
        """Return the evaluation as one JSON object, with each metric by its name."""
        kept = {name: value for name, value in vars(self).items() if name != 'metrics'}
        units = {name: unit for name, unit in self.units.items() if name in self.metrics}
        return {**kept, 'units': units, **self.metrics}

    def lines(self) -> list[str]:
        """Return the evaluation as lines of text."""
        said = [
            ('step', f'{self.step}, {self.split}, {self.targets:,} {self.unit}'),
            *((name.replace('_', ' '), self._figures(name, value)) for name, value in self.metrics.items()),
            *([] if self.estimate is None else [('estimate', f'{self.estimate:z.4f} on random windows')]),
            *self.signatures.items(),
        ]
        width = max(14, *(len(name) for name, _ in said))
        return [f'{name:{width}s}  {figures}' for name, figures in said]

    def _figures(self, name: str, value: float) -> str:
        between = '' if name not in self.intervals else ' [{:z.4f}, {:z.4f}]'.format(*self.intervals[name])
        simple = (self.baseline_name or '').rpartition(':')[2]
        baseline = f'   (baseline {simple}: {self.baseline[name]:z.4f})' if name in (self.baseline or {}) else ''
        unit = f' {self.units.get(name, "")}'.rstrip()
        return f'{value:z.4f}{unit}{between}{baseline}'


@dataclass(frozen=True)
class EvaluationOptions:
    """Options of an evaluation.

    Attributes:
        which: checkpoint, as in `train.process.given.CHECKPOINTS`.
        windows: number of random windows for an additional estimate of the loss, as in nanoGPT.
        length: sequence length in tokens; 0 for the training length.
        data: overrides of the config's data, `--config.data.FIELD=VALUE`, to evaluate on other data.
    """

    which: str = 'latest'
    split: str = 'validation'
    windows: int = 0
    length: int = 0
    data: tuple[str, ...] = ()


def evaluate_run(path: str, asked: EvaluationOptions) -> Evaluation:
    """Evaluate a run's checkpoint over a whole split, on one device.

    Raises:
        UserError: the folder has no run, the data are missing, or the model does not fit them.
    """
    workdir = Workdir.existing(path)
    experiment = _on_other_data(workdir, asked.data) if asked.data else Experiment.of(config_of(workdir))
    if asked.length:
        experiment = experiment.at_length(asked.length)
    prepared = prepare_other(workdir, experiment) if asked.data else prepare_again(workdir, experiment)
    experiment.data().require_model(experiment.model, prepared.processor)
    split, rows = _split(prepared, asked.split), experiment.batch_size
    windows = random_windows(split, rows, asked.windows, experiment.seed) if asked.windows else None
    trained = open_run(path, asked.which)
    found = evaluated(experiment, trained.params, split, asked.split, trained.step)
    baseline = _baseline(workdir, experiment, prepared, asked)
    sampled = None if windows is None else evaluate(_scorer(experiment, trained.params), windows)['loss']
    return replace(found.compared(baseline, experiment.baseline), estimate=sampled)


def evaluate_start(config: Mapping[str, Any], asked: EvaluationOptions) -> Evaluation:
    """Evaluate the weights of `init_from` on the data of a config, as they are before its first step.

    Raises:
        UserError: `init_from` is missing or is another model, the data are missing, or parameters would be random.
    """
    experiment = Experiment.of(config)
    path, data = experiment.init_from, experiment.data()
    if not path:
        raise UserError('give --config.init_from=DIR, the weights to evaluate; or --workdir, the folder of a run')
    if asked.length:
        experiment = experiment.at_length(asked.length)
    require_architecture(experiment)
    prepared = prepare(data, data.open_processor(verified_folder(path)))
    data.require_model(experiment.model, prepared.processor)
    split, initial = _split(prepared, asked.split), Initial.of(experiment)
    drawn = initial(jax.random.key(experiment.seed), scales_of(experiment))
    start = start_from((path, experiment.init_part), drawn, initial.axes, experiment.adapt)
    if start.new:
        raise UserError(
            f'{path}: lacks {listed(start.new)}, which would be random; train it with launch/train.py first'
        )
    return evaluated(experiment, start.params, split, asked.split, 0)


def _on_other_data(workdir: Workdir, overrides: Sequence[str]) -> Experiment:
    """Return the experiment of a run on other data, whose classes have the numbers that they had in training.

    Other files that are not split are for validation as a whole: the run was trained on none of them.
    """
    trained = config_of(workdir)
    config = overridden(trained, overrides)
    experiment = Experiment.of(config)
    kind, paths = experiment.data.target, [each['data'].get('path') for each in (trained, config)]
    fraction = get_type_hints(kind, include_extras=True).get('validation') if isinstance(kind, type) else None
    given = any(override.startswith(f'{PREFIX}data.validation=') for override in overrides)
    if fraction == HeldOut and not given and paths[1] and not _same_file(*paths):
        config = {**config, 'data': {**config['data'], 'validation': 1.0}}
        experiment = Experiment.of(config)
    if getattr(experiment.data(), 'names', ()) is not None or not workdir.classes.exists():
        return experiment
    names = class_names(Experiment.of(trained), workdir)
    classes = {'names': list(names), 'classes': len(names)}
    return Experiment.of({**config, 'data': {**config['data'], **classes}})


def _same_file(one: str | None, other: str) -> bool:
    return one is not None and expanded(one).resolve() == expanded(other).resolve()


def _baseline(
    workdir: Workdir, experiment: Experiment, prepared: Prepared, asked: EvaluationOptions
) -> Evaluation | None:
    """Evaluate the baseline, fitted to the training split of the run; None for this split, or if it cannot be read."""
    if experiment.baseline is None or asked.split == 'train':
        return None
    try:
        own = prepare_other(workdir, Experiment.of(config_of(workdir))) if asked.data else prepared
    except UserError as error:
        _LOG.warning('no baseline, which is fitted to the training data: %s', error)
        return None
    return baseline_of(experiment, prepared, asked.split, train=own.splits['train'])


def _split(prepared: Prepared, name: str) -> Split:
    if name not in prepared.splits:
        raise UserError(f"--split='{name}': the splits are {', '.join(prepared.splits)}")
    return prepared.splits[name]


def evaluated(experiment: Experiment, params: Params, split: Split, name: str, step: int) -> Evaluation:
    """Evaluate parameters on a split, on one device."""
    batches = eval_batches(split, experiment.batch_size)
    found = evaluation(step, name, split, evaluate(_scorer(experiment, params), batches))
    return with_task_metrics(experiment, params, split, found)


def prepare_lengths(experiment: Experiment, processor: Processor | None) -> list[tuple[Experiment, Split]]:
    """Prepare the validation split at each of the experiment's lengths, for batches with as many tokens as in training.

    Raises:
        UserError: a split has too little text for a length, or the model does not support it.
    """
    others = [experiment.at_length(length) for length in experiment.eval_lengths]
    return [(other, other.data().prepare(cache_folder(), processor).splits['validation']) for other in others]


def evaluate_lengths(prepared: Sequence[tuple[Experiment, Split]], params: Params, step: int) -> Iterator[Evaluation]:
    """Evaluate parameters at each length of `prepare_lengths`, on one device."""
    for other, split in prepared:
        name = f'validation_{other.data().context_length}'
        yield evaluated(other, params, split, name, step)


def evaluation(step: int, name: str, split: Split, metrics: dict[str, float]) -> Evaluation:
    """Return an evaluation from the means over a split, with derived metrics."""
    return Evaluation(step, name, split.targets, split.unit, {**metrics, **split.derived(metrics)})


def with_task_metrics(
    experiment: Experiment,
    params: Params,
    split: Split,
    found: Evaluation,
    limit: int | None = None,
    backend: Backend | None = None,
) -> Evaluation:
    """Add the metrics that the task evaluates per example, if it has any.

    Args:
        limit: maximum number of batches; None for all.
        backend: backend whose devices share the batches; None for one device.

    Raises:
        UserError: `evaluate` returns a value other than an estimate.
    """
    task, model, params = experiment.task(), experiment.model(), in_dtype(params, experiment.dtype, experiment)
    known = declared(experiment).metrics.items()
    found = replace(found, units={name: each.unit for name, each in known if each.unit})
    if not isinstance(task, Evaluator):
        return found
    if backend is None:
        predicted = predictions(task, model, params, eval_batches(split, experiment.batch_size, limit=limit))
    else:
        predict = backend.spread(_numbered(partial(task.predict, model)))
        batches = _shared_batches(split, experiment.batch_size, limit, backend)
        predicted = _in_order([predict(params, rows) for rows in batches], split, experiment.batch_size, limit)
    measured = task.evaluate(predicted, split)
    if wrong := [name for name, each in measured.items() if not isinstance(each, Estimate)]:
        raise UserError(f"{experiment.task.name}.evaluate: '{wrong[0]}' must be an estimate with value, low and high")
    values = {name: each.value for name, each in measured.items()}
    intervals = {name: (each.low, each.high) for name, each in measured.items()}
    return replace(
        found,
        metrics=found.metrics | values,
        intervals=intervals,
        signatures={name: each.signature for name, each in measured.items() if hasattr(each, 'signature')},
    )


def _shared_batches(split: Split, batch_size: int, limit: int | None, backend: Backend) -> Iterator[Rows]:
    """Yield the rows of this process with their indices: a whole batch per shard, as on a single device.

    Batches of another size might change the last bits of a number. (So may weights sharded over devices, since XLA then
    orders the sums.)
    """
    shards, (process, processes) = backend.shards, backend.reads
    rounds = eval_batches(split, shards * batch_size, process, processes, limit and -(-limit // shards))
    rows = shards * batch_size // processes
    for number, batch in enumerate(rounds):
        first = (number * processes + process) * rows
        yield {**batch, _NUMBER: np.arange(first, first + rows, dtype=np.int32)}


def _numbered(predict: Callable[[Params, Any], Any]) -> Callable[[Params, Any], Any]:
    """Return a function whose predictions include the row indices, since devices may reorder rows."""

    def numbered(params: Params, rows: Any) -> Any:
        given = {name: part for name, part in rows.items() if name != _NUMBER}
        return {**predict(params, given), _NUMBER: rows[_NUMBER]}

    return numbered


def _in_order(
    parts: Sequence[Mapping[str, np.ndarray]], split: Split, batch_size: int, limit: int | None
) -> dict[str, np.ndarray]:
    """Join predictions in the order of their rows, as many as the batches of one device have."""
    batches = -(-len(split.rows) // batch_size)
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(whole.pop(_NUMBER))[: min(batches, limit or batches) * batch_size]
    return {name: part[order] for name, part in whole.items()}


def vocabulary_of(experiment: Experiment, processor: Processor | None) -> int | None:
    """Return the size of the vocabulary that a baseline gets; None if the data have none.

    Raises:
        UserError: the data have none, and the baseline needs one.
    """
    size, part = getattr(processor, 'size', None), experiment.baseline
    if size is None and part is not None and get_type_hints(part.target).get('vocabulary') is int:
        raise UserError(
            f'config.baseline: {part.name} needs a vocabulary, and the data have no tokenizer; '
            'set --config.baseline=None'
        )
    return size


def require_sample(experiment: Experiment, processor: Processor | None) -> None:
    """Check that the sample of a run can be made, as far as its `require` tells.

    Raises:
        UserError: the data have no tokenizer, or the sample does not fit the model or the tokenizer.
    """
    sample = experiment.sample() if experiment.sample else None
    if not hasattr(sample, 'require'):
        return
    if processor is None:
        raise UserError('config.sample: the data have no tokenizer; set --config.sample=None')
    try:
        sample.require(experiment.model(), processor)
    except UserError as error:
        texts = [name for name, value in experiment.sample.arguments if isinstance(value, str)]
        other = f'--config.sample.{texts[0]} to another text or ' if texts else ''
        raise UserError(f'config.sample: {error}; set {other}--config.sample=None') from error


def baseline_of(
    experiment: Experiment, prepared: Prepared, name: str, step: int = 0, train: Split | None = None
) -> Evaluation | None:
    """Evaluate the experiment's baseline on a split; return None if there is none.

    Args:
        train: split that it is fitted to; None for the training split of the same data.
    """
    if experiment.baseline is None:
        return None
    split = prepared.splits[name]
    found = experiment.baseline(train or prepared.splits['train'], split, vocabulary_of(experiment, prepared.processor))
    found = {'loss': found} if isinstance(found, float) else found
    if not found.keys() & declared(experiment).metrics.keys():
        _LOG.warning(
            'config.baseline: %s measures %s, and the task measures none of these metrics; set --config.baseline=None',
            experiment.baseline.name, ', '.join(found),
        )  # fmt: skip
    return evaluation(step, 'baseline', split, found)


def _scorer(experiment: Experiment, params: Params) -> Callable[[Rows], Any]:
    task, model = experiment.task(), experiment.model()
    params = in_dtype(params, experiment.dtype, experiment)

    @jax.jit
    def score(params: Any, rows: Any) -> Any:
        return task.loss(model, params, rows, jax.random.key(0), False)

    return partial(score, params)
