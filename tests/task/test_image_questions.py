# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Span question answering over patches and text in one sequence: answers are in the text alone, padding is nothing."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.data.pipeline import eval_batches
from saccade.decode.predict import predictions
from saccade.task.span_qa import ENDS
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.setup import make_learner

FILE = Path(__file__).parents[2] / 'experiments/vision/questions.py'
SMALL = ('model.width=16', 'model.layers=2', 'model.block.mixer.heads=2', 'data.train=60', 'data.validation=12')
NEAR, CELL, ROWS = 1e-5, 8, 5
UNPLACED = "model.embed.image_position={'use': 'position.none:NoPosition'}"


def experiment_of(*overrides):
    return Experiment.of(load_config(str(FILE), [f'--config.{each}' for each in (*SMALL, *overrides)]))


EXPERIMENT = experiment_of()


@pytest.fixture(scope='module')
def split(tmp_path_factory):
    return EXPERIMENT.data().prepare(tmp_path_factory.mktemp('cache')).splits['validation']


@pytest.fixture(scope='module')
def batch(split):
    return first_of(split)


def first_of(split):
    return jax.tree.map(jnp.asarray, next(iter(eval_batches(split, ROWS))))


def drawn(experiment, batch):
    """Parameters away from where they start, so that every path counts."""
    params = experiment.task().init(experiment.model(), jax.random.key(0), batch)
    keys = jax.random.split(jax.random.key(1), len(jax.tree.leaves(params)))
    spread = [
        leaf + 0.3 * jax.random.normal(key, leaf.shape) for leaf, key in zip(jax.tree.leaves(params), keys, strict=True)
    ]
    return jax.tree.unflatten(jax.tree.structure(params), spread)


def logits(experiment, params, batch):
    return experiment.task().predict(experiment.model(), params, batch)


def test_a_step_has_as_many_tokens_as_there_are_places():
    assert EXPERIMENT.tokens == EXPERIMENT.batch_size * EXPERIMENT.model().context_length == 64 * (4 + 28)


@pytest.mark.long
def test_only_the_text_that_accompanies_the_image_is_scored(split, batch):
    found = logits(EXPERIMENT, drawn(EXPERIMENT, batch), batch)
    for row in range(ROWS):
        asked = len(split.rows.asked[row])
        context = range(2 + asked, 2 + asked + len(split.rows.windows[row]))
        for name in ENDS:
            assert found[name].shape == batch['tokens'].shape
            assert np.flatnonzero(np.isfinite(found[name][row])).tolist() == [0, *context]


@pytest.mark.long
def test_padding_after_the_text_changes_nothing(batch):
    longer = experiment_of('data.context_length=36')  # the model's positions of text too
    params, more = drawn(longer, batch), {**batch, **_padded(batch, 8)}
    short, long = logits(longer, params, batch), logits(longer, params, more)
    for name in ENDS:
        np.testing.assert_allclose(short[name], long[name][:, :28], atol=NEAR)
    garbage = {**more, 'tokens': jnp.where(more['segments'] == 0, 7, more['tokens'])}
    for name, found in logits(longer, params, garbage).items():
        np.testing.assert_allclose(found, long[name], atol=NEAR)


def _padded(batch, count):
    names = 'tokens', 'segments', 'positions', 'types', 'window'
    return {name: jnp.pad(batch[name], ((0, 0), (0, count))) for name in names}


@pytest.mark.long
def test_rows_of_padding_count_for_nothing(split, batch):
    params = drawn(EXPERIMENT, batch)
    blank = split.rows.padding()
    more = {name: jnp.concatenate([array, np.stack([blank[name]] * 3)]) for name, array in batch.items()}
    task, model = EXPERIMENT.task(), EXPERIMENT.model()
    alone, among = (task.loss(model, params, rows, jax.random.key(0), False)['loss'] for rows in (batch, more))
    assert float(among.weight) == ROWS
    assert float(among.mean()) == pytest.approx(float(alone.mean()), rel=NEAR)


@pytest.mark.long
def test_the_picture_counts_and_its_places_where_they_have_positions(batch):
    moved = batch | {'images': jnp.roll(batch['images'], CELL, axis=2)}  # every shape one cell to the right
    other = batch | {'images': batch['images'][::-1]}
    for experiment, places_count in ((EXPERIMENT, True), (experiment_of(UNPLACED), False)):
        params = drawn(experiment, batch)
        found, shifted, exchanged = (logits(experiment, params, rows)['start'] for rows in (batch, moved, other))
        inside = np.isfinite(found)
        assert (np.abs(found - exchanged)[inside] > 1e-3).any()
        assert (np.abs(found - shifted)[inside].max() > 1e-3) == places_count


@pytest.mark.long
def test_answers_are_the_best_of_all_valid_spans(split):
    experiment = experiment_of('task.longest=3')
    task, model = experiment.task(), experiment.model()
    params = drawn(experiment, first_of(split))
    found = predictions(task, model, params, eval_batches(split, ROWS))
    answers = list(task.outputs(found, split))
    assert len(answers) == split.targets
    for row, answer in enumerate(answers):
        begins = 2 + len(split.rows.asked[row])
        ends = begins + len(split.rows.windows[row])
        spans = {
            (first, last): found['start'][row, first] + found['stop'][row, last]
            for first in range(begins, ends)
            for last in range(first, min(ends, first + 3))
        }
        best = max(spans, key=spans.get)
        assert answer.text == split.text(row, *best)
        assert split.questions[row].context[answer.start : answer.stop] == answer.text != ''


@pytest.mark.long
def test_it_learns_a_few_questions_by_heart(batch):
    experiment = experiment_of('model.width=32', 'schedule.peak=3e-3', 'steps=150', 'optimizer.weight_decay=0.0')
    learner = make_learner(experiment)
    state, step = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch), jax.jit(learner.train_step)
    first = None
    for _ in range(120):
        state, metrics = step(state, batch)
        first = first or float(metrics['loss'])
    assert float(metrics['loss']) < 0.2 < first
