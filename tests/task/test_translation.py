# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Translation on a toy model: which targets count, what smoothing does, and how what it writes is judged."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_seq2seq import made

from saccade.build import build
from saccade.decode.beam import Beam
from saccade.decode.greedy import Greedy
from saccade.metric.exact import ExactMatch
from saccade.task.translation import Translation
from saccade.train.optimizer import path_of
from saccade.types import Evaluator, LayerContext, Part, Task, UserError

NEAR = 1e-5
KEY = jax.random.key(0)
SEARCH, METRICS = Part(Greedy), (Part(ExactMatch),)
MODEL, PARAMS = made()
TARGET = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0]], bool)
END = 2


def batch():
    draw = np.random.default_rng(0)
    source, tokens = (draw.integers(3, MODEL.vocabulary, (3, width)) for width in (7, 7))
    tokens[:, 0] = END
    segments = np.concatenate([TARGET.any(axis=1, keepdims=True), TARGET], axis=1).astype(int)
    there = np.array([[1, 1, 1, 1, 0, 0, 0], [1] * 7, [0] * 7])
    arrays = {
        'source': source,
        'source_segments': there,
        'source_positions': np.arange(7) * there,
        'tokens': tokens,
        'segments': segments,
        'positions': np.arange(7) * segments,
        'end': np.full(3, END),
        'row': np.array([4, 1, -1]),
    }
    return {name: jnp.array(array, jnp.int32) for name, array in arrays.items()}


def task(**settings):
    return Translation(search=SEARCH, metrics=METRICS, **settings)


def log_p():
    rows = batch()
    contexts = (
        LayerContext(rows['source_positions'], rows['source_segments']),
        LayerContext(rows['positions'][:, :-1], rows['segments'][:, :-1]),
    )
    logits = MODEL.apply({'params': PARAMS}, rows['source'], contexts[0], rows['tokens'][:, :-1], contexts[1], False)
    return np.asarray(jax.nn.log_softmax(logits), np.float64)


def loss(train=False, rows=None, **settings):
    return task(**settings).loss(MODEL, PARAMS, rows or batch(), KEY, train)


@pytest.mark.long
def test_the_loss_is_the_mean_surprise_at_what_is_written_and_padding_is_no_target():
    tokens, known = np.asarray(batch()['tokens']), log_p()
    expected = [-known[b, t, tokens[b, t + 1]] for b, t in np.argwhere(TARGET)]
    found = loss()
    assert found['loss'].weight == found['accuracy'].weight == len(expected) == 8
    assert found['loss'].mean() == pytest.approx(np.mean(expected), rel=NEAR)


@pytest.mark.long
def test_what_stands_in_padding_makes_no_difference():
    rows = batch()
    for side, there in (('source', rows['source_segments']), ('tokens', rows['segments'])):
        rows = {**rows, side: jnp.where(there != 0, rows[side], (rows[side] + 3) % MODEL.vocabulary)}
    assert loss(rows=rows)['loss'].mean() == loss()['loss'].mean()


@pytest.mark.long
def test_label_smoothing_spreads_a_share_over_the_vocabulary_in_training_alone():
    e, known, tokens = 0.1, log_p(), np.asarray(batch()['tokens'])
    expected = [-(1 - e) * known[b, t, tokens[b, t + 1]] - e * known[b, t].mean() for b, t in np.argwhere(TARGET)]
    assert loss(train=True, label_smoothing=e)['loss'].mean() == pytest.approx(np.mean(expected), rel=NEAR)
    assert loss(train=False, label_smoothing=e)['loss'].mean() == loss()['loss'].mean()


def test_its_parameters_are_the_models():
    shapes = jax.tree.map(jnp.shape, task().init(MODEL, KEY, batch()))
    assert shapes == jax.tree.map(jnp.shape, PARAMS)


def test_it_predicts_what_is_written_of_the_sources_whatever_the_targets_are():
    rows = batch()
    found = task().predict(MODEL, PARAMS, rows)
    other = task().predict(MODEL, PARAMS, {**rows, 'tokens': rows['tokens'].at[:, 1:].set(5), 'segments': 0})
    np.testing.assert_array_equal(found['tokens'], other['tokens'])
    assert found['counts'][2] == 0  # nothing is to be written of padding
    np.testing.assert_array_equal(found['row'], [4, 1, -1])


def test_texts_are_judged_beside_the_reference_of_their_row():
    split = SimpleNamespace(text=lambda ids: ' '.join(map(str, ids)), references={4: '7 8', 1: '9'})
    predictions = {'tokens': np.array([[7, 8, 2], [9, 9, 2], [0, 0, 0]]), 'counts': np.array([2, 2, 0])}
    judged = task().evaluate(predictions | {'row': np.array([4, 1, -1])}, split)
    assert judged['exact_match'].value == 0.5


def test_it_is_a_task_and_a_judge():
    assert isinstance(task(), Task)
    assert isinstance(task(), Evaluator)


def hard_attention():
    cell = {'use': 'recurrent.cell.lstm:LSTM', 'width': 8}
    looking = {
        'use': 'recurrent.decoder.hard:Hard',
        'score': {'use': 'recurrent.score.general:General'},
        'estimator': {'use': 'recurrent.decoder.reinforce:Reinforce'},
    }
    spec = {
        'use': 'model.recurrent_seq2seq:RecurrentSeq2Seq',
        'vocabulary': MODEL.vocabulary,
        'context_length': 7,
        'source_context_length': 7,
        'width': 8,
        'encoder': {'use': 'recurrent.encoder:Encoder', 'cell': cell, 'layers': 1, 'bidirectional': False},
        'bridge': {'use': 'recurrent.decoder.copied:Copied'},
        'decoder': {
            'use': 'recurrent.decoder.luong:Luong',
            'cell': cell,
            'layers': 1,
            'attention': looking,
            'input_feeding': False,
        },
        'tied': True,
    }
    return build(spec)()


def slopes(model, train):
    """How the loss changes with the weights of the score, which alone decide what is chosen; and its totals."""
    made_once = task().init(model, KEY, batch())

    def total(params):
        totals = task().loss(model, params, batch(), KEY, train)
        return totals['loss'].total, totals

    gradient, totals = jax.grad(total, has_aux=True)(made_once)
    found = {path_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(gradient)}
    return np.concatenate([leaf.ravel() for path, leaf in found.items() if 'score' in path]), totals


@pytest.mark.long
def test_choices_made_by_chance_are_learned_from_the_losses_that_follow():
    model = hard_attention()
    learned, totals = slopes(model, train=True)
    assert np.abs(learned).max() > 0
    assert totals['cross_entropy'].weight == totals['loss'].weight == TARGET.sum()
    judged, totals = slopes(model, train=False)
    assert not judged.any()
    assert 'cross_entropy' not in totals


def test_a_wrong_search_is_refused_before_training():
    with pytest.raises(UserError, match='5 beams do not divide into 2 groups'):
        Translation(search=Part(Beam, (('beams', 5), ('groups', 2))), metrics=METRICS)
