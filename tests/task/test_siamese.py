# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks of texts that are compared by their vectors: losses by their formulas in NumPy, and one tower for all texts."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from known_encoder import POOLED, Known, encoder, loss_of

from saccade.data.rows.frame import Frame
from saccade.data.rows.stacked_frame import StackedFrame
from saccade.ops.similarity import cosine, normalised
from saccade.task.base import Forward
from saccade.task.cosine_regression import CosineRegression
from saccade.task.multiple_negatives import MultipleNegatives
from saccade.task.siamese_classification import SiameseClassification
from saccade.task.triplet import Triplet
from saccade.types import IGNORED, AcrossRows, Evaluator, LayerContext, Task, UserError

NEAR = 1e-5
ROWS, WIDTH = 4, 5
EXAMPLE = jnp.array([0, 1, -1, 2])  # the third row is padding
KEPT = [0, 1, 3]
VECTORS = POOLED | {'classes': None}


def blank(texts, **answers):
    """A batch of rows of so many texts each."""
    names = ('tokens', 'segments', 'positions', 'types')
    return {**{name: jnp.zeros((ROWS, texts, 8), jnp.int32) for name in names}, 'example': EXAMPLE, **answers}


def known(texts):
    """An encoder whose vectors are its parameters, and these as [ROWS, texts, WIDTH]."""
    model = Known((('pooled', (ROWS * texts, WIDTH)),))
    params = MultipleNegatives().init(model, jax.random.key(texts), blank(texts))
    return model, params, np.asarray(params['pooled'], np.float64).reshape(ROWS, texts, WIDTH)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_of_vectors_of_norm_1_the_dot_product_is_the_cosine():
    x, y = np.random.default_rng(0).normal(size=(2, 7, WIDTH))
    dots = (np.asarray(normalised(jnp.array(x))) * np.asarray(normalised(jnp.array(y)))).sum(axis=-1)
    expected = (x * y).sum(axis=-1) / np.linalg.norm(x, axis=-1) / np.linalg.norm(y, axis=-1)
    np.testing.assert_allclose(dots, expected, rtol=NEAR)
    np.testing.assert_allclose(cosine(jnp.array(x), jnp.array(y)), dots, rtol=NEAR)
    np.testing.assert_allclose(np.linalg.norm(normalised(jnp.array(x)), axis=-1), 1.0, rtol=NEAR)


@pytest.mark.long
def test_a_vector_of_zeros_has_the_cosine_0_and_a_finite_gradient():
    zeros, x = jnp.zeros(WIDTH), jnp.ones(WIDTH)
    assert cosine(zeros, x) == 0.0
    assert jnp.isfinite(jax.grad(cosine)(zeros, x)).all()


def test_cosine_regression_is_the_squared_difference_from_the_share_of_the_highest_value():
    model, params, vectors = known(2)
    value = np.array([5.0, 1.0, np.nan, 2.5], np.float32)
    found = loss_of(CosineRegression(highest=5.0), model, params, blank(2, value=jnp.array(value)))
    u, v = unit(vectors[KEPT, 0]), unit(vectors[KEPT, 1])
    assert found['loss'].weight == 3
    assert found['loss'].mean() == pytest.approx((((u * v).sum(axis=-1) - value[KEPT] / 5.0) ** 2).mean(), rel=NEAR)


def test_predicted_similarities_are_in_the_unit_of_the_values_and_are_judged_by_their_ranks():
    model, params, vectors = known(2)
    cosines = (unit(vectors[:, 0]) * unit(vectors[:, 1])).sum(axis=-1)
    batch = blank(2, value=jnp.array(2 * cosines + 1, jnp.float32))
    found = CosineRegression(highest=5.0).predict(model, params, batch)
    np.testing.assert_allclose(found['logits'][:, 0], 5.0 * cosines, rtol=NEAR)
    measured = CosineRegression(highest=5.0).evaluate(jax.device_get(found), SimpleNamespace())
    assert measured['spearman'].value == pytest.approx(1.0)


@pytest.mark.parametrize('texts', [2, 3])
def test_ranking_is_the_cross_entropy_of_the_right_text_among_all_second_and_third_ones(texts):
    model, params, vectors = known(texts)
    found = loss_of(MultipleNegatives(temperature=0.1), model, params, blank(texts))
    u, others = unit(vectors[KEPT, 0]), unit(np.concatenate([vectors[KEPT, number] for number in range(1, texts)]))
    logits = u @ others.T / 0.1
    losses = np.log(np.exp(logits).sum(axis=-1)) - np.diagonal(logits)
    assert found['loss'].mean() == pytest.approx(losses.mean(), rel=NEAR)
    assert found['accuracy'].mean() == pytest.approx((logits.argmax(axis=-1) == np.arange(3)).mean())


def test_ranking_is_judged_among_the_texts_of_the_whole_split():
    vectors = unit(np.random.default_rng(3).normal(size=(300, 2, WIDTH)))
    example = np.where(np.arange(300) < 290, np.arange(300), -1)
    split = SimpleNamespace(rows=SimpleNamespace(texts=2 * (np.arange(300)[:, None],)))
    found = MultipleNegatives().evaluate({'vectors': vectors, 'example': example}, split)
    scores = vectors[:290, 0] @ vectors[:290, 1].T
    ranks = (scores >= np.diagonal(scores)[:, None]).sum(axis=-1)
    assert found['mrr'].value == pytest.approx((1 / ranks).mean())
    assert found['recall_at_5'].value == pytest.approx((ranks <= 5).mean())


def test_all_second_texts_of_a_first_text_are_right_and_equal_ones_are_one_text():
    vectors = np.stack(2 * [np.eye(4)[[0, 0, 1, 2]]], axis=1)
    vectors[1, 1] = unit(np.array([0.9, 0.1, 0, 0]))
    texts = np.array([[5], [5], [6], [7]]), np.array([[1], [2], [3], [4]])
    predictions = {'vectors': vectors, 'example': np.arange(4)}
    for second in (texts[1], np.array([[1], [1], [3], [4]])):
        split = SimpleNamespace(rows=SimpleNamespace(texts=(texts[0], second)))
        assert MultipleNegatives().evaluate(predictions, split)['mrr'].value == 1.0


def test_the_triplet_loss_is_the_difference_of_euclidean_distances_over_a_margin():
    model, params, vectors = known(3)
    found = loss_of(Triplet(margin=0.7), model, params, blank(3))
    a, p, n = (vectors[KEPT, number] for number in range(3))
    margins = np.linalg.norm(a - n, axis=-1) - np.linalg.norm(a - p, axis=-1)
    assert found['loss'].mean() == pytest.approx(np.maximum(0.7 - margins, 0).mean(), rel=NEAR)
    assert found['accuracy'].mean() == pytest.approx((margins > 0).mean())
    predicted = jax.device_get(Triplet().predict(model, params, blank(3)))
    assert Triplet().evaluate(predicted, SimpleNamespace())['accuracy'].value == pytest.approx((margins > 0).mean())


def rows(*examples):
    """A batch of pairs of texts."""
    frame = StackedFrame(Frame.of_bert(12, opens=1, closes=2), 2)
    found = [frame.row(*example) for example in examples]
    return {name: jnp.array(np.stack([row[name] for row in found])) for name in found[0]}


PAIRS = ([5, 6, 7, 8], [9]), ([9], [10, 11, 12]), ([5, 9], [5, 9])
ANSWERS = {'label': jnp.array([2, IGNORED, 0]), 'example': jnp.arange(3)}


@pytest.mark.long
def test_classification_is_the_softmax_of_both_vectors_and_their_difference():
    model = encoder(12, pooled=VECTORS, compared={**POOLED, 'use': 'head.compared:Compared', 'classes': 3})
    batch, task = rows(*PAIRS) | ANSWERS, SiameseClassification()
    params = task.init(model, jax.random.key(1), batch)
    head = params['compared_head']
    assert head['output'].shape == (3 * 16, 3)
    u, v = np.moveaxis(MultipleNegatives().vectors(Forward(model, params), batch), 1, 0)
    logits = np.asarray(np.concatenate([u, v, np.abs(u - v)], axis=-1) @ head['output'] + head['output_bias'])
    losses = np.log(np.exp(logits).sum(axis=-1)) - logits[[0, 1, 2], [2, 0, 0]]
    found = loss_of(task, model, params, batch)
    assert found['loss'].mean() == pytest.approx(losses[[0, 2]].mean(), rel=1e-4)
    text, places = batch['tokens'][:1, 0], batch['positions'][:1, 0]
    alone = model.apply({'params': params}, text, LayerContext(places, batch['segments'][:1, 0]), False)
    np.testing.assert_allclose(alone['pooled'][0], u[0], rtol=1e-4, atol=NEAR)
    assert alone['compared'].shape == (0, 3)


@pytest.mark.long
def test_both_branches_are_one_tower_and_a_text_has_the_same_vector_in_each():
    model = encoder(12, pooled=VECTORS)
    batch = rows(*PAIRS) | ANSWERS
    params = MultipleNegatives().init(model, jax.random.key(1), batch)
    tokens, places = jnp.ones((1, 12), jnp.int32), jnp.arange(12)[None]
    alone = model.init(jax.random.key(1), tokens, LayerContext(places), False)['params']
    assert jax.tree.structure(params) == jax.tree.structure(alone)
    vectors = np.asarray(MultipleNegatives().predict(model, params, batch)['vectors'])
    np.testing.assert_allclose(vectors[2, 0], vectors[2, 1], rtol=NEAR)
    np.testing.assert_allclose(vectors[0, 1], vectors[1, 0], rtol=NEAR)
    swapped = MultipleNegatives().predict(model, params, rows(*((b, a) for a, b in PAIRS)) | ANSWERS)['vectors']
    np.testing.assert_allclose(swapped, vectors[:, ::-1], rtol=NEAR, atol=NEAR)


@pytest.mark.parametrize(
    ('task', 'texts', 'words'),
    [
        (Triplet(), 2, 'a triplet has 3 texts, not 2'),
        (CosineRegression(), 3, 'a cosine needs 2 texts, not 3'),
    ],
)
def test_examples_of_another_number_of_texts_are_refused(task, texts, words):
    model, params, _ = known(texts)
    with pytest.raises(UserError, match=words):
        loss_of(task, model, params, blank(texts, value=jnp.zeros(ROWS)))


def test_rows_of_one_text_are_refused():
    model, params, _ = known(2)
    single = {name: leaf[:, 0] for name, leaf in blank(2).items() if leaf.ndim > 1}
    with pytest.raises(UserError, match=r'config\.data: .* separate rows .* SiameseClassified'):
        loss_of(MultipleNegatives(), model, params, single)


def test_they_are_tasks_that_judge_and_ranking_depends_on_other_rows():
    tasks = MultipleNegatives(), Triplet(), CosineRegression(), SiameseClassification()
    assert all(isinstance(task, Task) and isinstance(task, Evaluator) for task in tasks)
    assert [isinstance(task, AcrossRows) for task in tasks] == [True, False, False, False]
