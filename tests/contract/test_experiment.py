# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The contract of a data set, a task and its metrics, within a whole experiment: those of the package, or one's own.

python -m pytest tests/contract --experiment "my_experiment.py --config.task.use=my_task:Sharpened"
"""

import itertools
import os
import shlex
from functools import cached_property, partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from whole_rows import assert_whole, rows_of

from saccade.data.pipeline import eval_batches, train_batches
from saccade.decode.predict import predictions
from saccade.train.config import load_config
from saccade.train.declared import declared, reports_of
from saccade.train.experiment import Experiment
from saccade.types import Bucketed, Data, Evaluator, Prepared

ROOT = Path(__file__).parents[2] / 'experiments'
ROWS = 6
SPLITS = 'train', 'validation'
QUICK = 'diagnostics/parity.py'
# One for each task whose data come with the package or are generated.
SHIPPED = (
    'audio/tones.py',
    'causal_lm/quickstart.py',
    'denoising/prefix_lm.py',
    'embedding/skip_gram.py',
    'finetune/sort.py',
    'graphs/connected.py',
    'masked_lm/diffusion_tiny.py',
    'masked_lm/quickstart.py',
    'pairs/clip.py',
    'pairs/sentence_bert.py',
    'pairs/siglip.py',
    'protein/order.py',
    'sets/largest.py',
    'translation/dates.py',
    'translation/pointer.py',
    'translation/scheduled_sampling.py',
    'vision/captioning.py',
    'vision/questions.py',
)
CHOSEN = os.environ.get('SACCADE_EXPERIMENT')  # by `--experiment`
SUBJECTS = [CHOSEN] if CHOSEN else [QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in SHIPPED)]


class Whole:
    """An experiment with its prepared data, and parameters as they are initialised."""

    def __init__(self, words: str, cache: Path) -> None:
        file, *overrides = shlex.split(words)
        self.experiment = Experiment.of(load_config(str(Path(file) if CHOSEN else ROOT / file), overrides))
        self.cache = cache
        self.task, self.model, self.data = self.experiment.task(), self.experiment.model(), self.experiment.data()

    @cached_property
    def prepared(self) -> Prepared:
        return self.data.prepare(self.cache)

    @cached_property
    def batch(self):
        """Rows of the validation split, the last of them padding."""
        split = self.prepared.splits['validation']
        rows = [split.rows[number] for number in range(min(ROWS - 1, len(split.rows)))]
        return stacked([*rows, *[split.rows.padding()] * (ROWS - len(rows))])

    @cached_property
    def params(self):
        return jax.jit(lambda rows: self.task.init(self.model, jax.random.key(0), rows))(self.batch)

    @cached_property
    def evaluated(self):
        """The totals of rows, as an evaluation computes them."""
        return jax.jit(lambda params, rows: self.task.loss(self.model, params, rows, jax.random.key(0), False))

    def totals(self, rows):
        return self.evaluated(self.params, rows)

    @cached_property
    def mixing(self):
        """What the parts of the experiment declare about rows that are computed together."""
        parts = [part.target for whole in (self.experiment.task, self.experiment.model) for part in whole.walk()]
        return sorted({part.mixes_rows for part in parts if getattr(part, 'mixes_rows', '')})


def stacked(rows):
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def some(batch, rows):
    return {name: array[rows] for name, array in batch.items()}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)


def assert_near(found, expected):
    """Compare totals, relative to the larger of 1 and their largest number."""
    assert found.keys() == expected.keys()
    for name in found:
        for field in ('total', 'weight'):
            one, other = (np.asarray(getattr(each[name], field), np.float64) for each in (found, expected))
            bound = 1e-4 * max(1.0, np.abs(other).max(initial=0.0))
            np.testing.assert_allclose(one, other, rtol=0, atol=bound, err_msg=f'{name}: its {field}')


@pytest.fixture(scope='module', params=SUBJECTS)
def whole(request, tmp_path_factory):
    return Whole(request.param, tmp_path_factory.mktemp('cache'))


def test_the_data_have_all_methods_and_their_splits(whole):
    assert isinstance(whole.data, Data)
    assert {*SPLITS} <= whole.prepared.splits.keys()
    assert whole.prepared.source['digest']
    whole.data.require_model(whole.experiment.model, whole.prepared.processor)
    for split in whole.prepared.splits.values():
        assert len(split.rows) > 0
        assert split.targets > 0


def test_a_batch_has_the_declared_names_shapes_and_dtypes(whole):
    data = whole.data
    likes = data.batches_like(ROWS) if isinstance(data, Bucketed) else [data.batch_like(ROWS)]
    described = [{name: (like.shape, like.dtype) for name, like in each.items()} for each in likes]
    splits = whole.prepared.splits
    batches = [next(train_batches(splits['train'], ROWS, 0, 0)), next(eval_batches(splits['validation'], ROWS))]
    for batch in batches:
        assert {name: (array.shape, array.dtype) for name, array in batch.items()} in described


@pytest.mark.parametrize('name', SPLITS)
def test_a_row_is_a_function_of_its_number(whole, name):
    """So that a run that is resumed sees the rows that it would have seen."""
    rows = whole.prepared.splits[name].rows
    numbers = sorted({0, len(rows) // 2, len(rows) - 1})
    first = [rows[number] for number in numbers]
    again = whole.experiment.data().prepare(whole.cache).splits[name].rows
    assert len(again) == len(rows)
    for number, row in zip(reversed(numbers), reversed(first), strict=True):
        assert_same(rows[number], row)
        assert_same(again[number], row)


def test_the_digest_of_the_source_is_the_same_again(whole, tmp_path):
    assert whole.experiment.data().prepare(tmp_path).source == whole.prepared.source


def test_batches_continue_where_a_run_stopped(whole):
    split = whole.prepared.splits['train']
    batches = [*itertools.islice(train_batches(split, ROWS, 0, 0), 3)]
    assert_same(next(train_batches(split, ROWS, 0, 2)), batches[2])


def test_positions_rise_by_one_within_a_segment_and_padding_is_at_the_end(whole):
    for name in SPLITS:
        batch = next(eval_batches(whole.prepared.splits[name], ROWS))
        for segments in [each for each in batch if each.endswith('segments')]:
            numbers, places = (rows_of(batch[each]) for each in (segments, segments.replace('segments', 'positions')))
            assert_whole(numbers, places)


def test_padding_has_no_target_and_changes_no_total(whole):
    padding = whole.prepared.splits['validation'].rows.padding()
    rows = some(whole.batch, slice(0, ROWS - 1))
    more = {name: np.concatenate([array, np.stack(2 * [padding[name]])]) for name, array in rows.items()}
    alone = whole.totals(stacked(2 * [padding]))
    assert not np.asarray(alone['loss'].weight).any(), 'the loss of padding has a weight'
    if whole.mixing:
        pytest.skip(f'rows are computed together: {", ".join(whole.mixing)}')
    assert_near(whole.totals(more), whole.totals(rows))


def test_totals_are_sums_over_rows(whole):
    """So that microbatches, devices and evaluations of any batch size give one number."""
    if whole.mixing:
        pytest.skip(f'rows are computed together: {", ".join(whole.mixing)}')
    first, second = (whole.totals(some(whole.batch, rows)) for rows in (slice(0, ROWS // 2), slice(ROWS // 2, ROWS)))
    assert_near(jax.tree.map(jnp.add, first, second), whole.totals(whole.batch))
    assert_near(whole.totals(some(whole.batch, slice(None, None, -1))), whole.totals(whole.batch))


def test_weights_do_not_depend_on_parameters(whole):
    other = jax.tree.map(lambda leaf: 0.9 * leaf, whole.params)
    for name, total in whole.evaluated(other, whole.batch).items():
        np.testing.assert_array_equal(total.weight, whole.totals(whole.batch)[name].weight, err_msg=name)


def test_totals_are_in_float32_also_in_bfloat16(whole):
    params = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, jnp.bfloat16), whole.params)
    for train in (False, True):
        loss = partial(whole.task.loss, whole.model, train=train)
        found = jax.eval_shape(loss, params, whole.batch, jax.random.key(0))
        assert {leaf.dtype for leaf in jax.tree.leaves(found)} == {jnp.dtype('float32')}


def test_loss_and_gradients_are_finite_and_not_zero(whole):
    def mean(params, batch):
        return whole.task.loss(whole.model, params, batch, jax.random.key(0), True)['loss'].mean()

    loss, gradients = jax.jit(jax.value_and_grad(mean))(whole.params, whole.batch)
    assert np.isfinite(loss)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients))
    assert any(leaf.any() for leaf in jax.tree.leaves(gradients))


def test_a_row_is_predicted_without_regard_to_the_others(whole):
    if not isinstance(whole.task, Evaluator):
        pytest.skip('the task evaluates no predictions')
    both = predictions(whole.task, whole.model, whole.params, [whole.batch])
    assert {len(leaf) for leaf in jax.tree.leaves(both)} == {ROWS}
    if whole.mixing:
        pytest.skip(f'rows are computed together: {", ".join(whole.mixing)}')
    halves = [some(whole.batch, slice(0, ROWS // 2)), some(whole.batch, slice(ROWS // 2, ROWS))]
    apart = predictions(whole.task, whole.model, whole.params, halves)
    for one, other in zip(jax.tree.leaves(apart), jax.tree.leaves(both), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_metrics_are_as_they_are_declared(whole):
    """Each declared metric is there, each value is between its ends, and these within the declared bounds."""
    task, split = whole.task, whole.prepared.splits['validation']
    means = {name: float(total.mean()) for name, total in whole.totals(whole.batch).items()}
    derived = split.derived(means)
    assert derived.keys() == {metric.name for metric in reports_of(whole.data)}
    measured = [(name, value, value, value) for name, value in (means | derived).items()]
    if isinstance(task, Evaluator):
        found = predictions(task, whole.model, whole.params, eval_batches(split, whole.experiment.batch_size))
        estimates = task.evaluate(found, split)
        assert {metric.name for metric in reports_of(task, 'evaluates')} <= estimates.keys() | means.keys()
        measured += [(name, each.value, each.low, each.high) for name, each in estimates.items()]
    metrics = declared(whole.experiment).metrics
    assert declared(whole.experiment).best_by in {name for name, *_ in measured}
    for name, value, low, high in measured:
        assert low <= value <= high, f'{name}: {value} is not between {low} and {high}'
        if bounds := metrics.get(name):
            assert bounds.low is None or low >= bounds.low - 1e-6, f'{name}: {low} is less than is declared'
            assert bounds.high is None or high <= bounds.high + 1e-6, f'{name}: {high} is more than is declared'


def test_a_metric_of_texts_returns_what_it_declares(whole):
    metrics = dict(whole.experiment.task.arguments).get('metrics', ())
    if not metrics:
        pytest.skip('the task compares no texts')
    texts = ['a cat sat', 'the cat', '', 'on a mat']
    for metric in (part() for part in metrics):
        found = metric(texts, ['a cat sat', 'a dog', 'a cat', 'a mat'])
        assert found.keys() == {each.name for each in metric.reports}
        for each in metric.reports:
            estimate = found[each.name]
            assert estimate.low <= estimate.value <= estimate.high
            assert each.low is None or estimate.low >= each.low
            assert each.high is None or estimate.high <= each.high
