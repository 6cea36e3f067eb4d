# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks of images and captions: losses by their formulas in NumPy, padding, rows spread over devices, retrieval."""

from types import SimpleNamespace

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.similarity import normalised
from saccade.task.contrastive import Contrastive
from saccade.task.sigmoid_contrastive import SigmoidContrastive
from saccade.types import AcrossRows, Compared, Evaluator, ImageTextModel, Task

NEAR = 1e-5
ROWS, WIDTH = 8, 5
EXAMPLE = jnp.array([0, 1, 2, -1, 4, 5, 6, 7])  # the fourth row is padding
KEPT = np.array([0, 1, 2, 4, 5, 6, 7])
SCALE, BIAS = 5.0, -3.0


class Given(nn.Module):
    """A model whose vectors are its inputs, with a weight each."""

    vocabulary: int = 3
    context_length: int = WIDTH

    @nn.compact
    def __call__(self, images, tokens, context, train):
        weight = self.param('weight', nn.initializers.ones, (2,))
        image, text = normalised(weight[0] * images), normalised(weight[1] * tokens)
        return Compared(image, text, jnp.array(SCALE), jnp.array(BIAS))

    def encode_image(self, images):
        return normalised(images)

    def encode_text(self, tokens, context):
        return normalised(tokens)

    def logit_line(self):
        return jnp.array(SCALE), jnp.array(BIAS)


def batch():
    images, tokens = jax.random.normal(jax.random.key(1), (2, ROWS, WIDTH))
    places = {name: jnp.zeros((ROWS, 1), jnp.int32) for name in ('segments', 'positions')}
    return {'images': images, 'tokens': images + tokens, 'example': EXAMPLE, **places}


def logits(rows):
    image, text = (np.asarray(normalised(rows[name]), np.float64)[KEPT] for name in ('images', 'tokens'))
    return SCALE * image @ text.T + BIAS


def totals(task, rows):
    return task.loss(Given(), {'weight': jnp.ones(2)}, rows, jax.random.key(0), True)


def cross(logits):
    return (np.log(np.exp(logits).sum(axis=-1)) - np.diag(logits)).sum()


def test_they_are_tasks_of_a_dual_encoder():
    assert isinstance(Given(), ImageTextModel)
    for task in (Contrastive(), SigmoidContrastive()):
        assert isinstance(task, Task)
        assert isinstance(task, Evaluator)
        assert isinstance(task, AcrossRows)


@pytest.mark.long
def test_the_contrastive_loss_is_info_nce_both_ways_without_padding():
    found, expected = totals(Contrastive(), batch()), logits(batch())
    np.testing.assert_allclose(found['loss'].total, (cross(expected) + cross(expected.T)) / 2, rtol=NEAR)
    assert found['loss'].weight == len(KEPT)
    hits = [(way.argmax(axis=-1) == np.arange(len(KEPT))).sum() for way in (expected, expected.T)]
    assert found['accuracy'].total == sum(hits) / 2
    assert len({*hits, len(KEPT)}) > 1  # some are wrong


def test_the_sigmoid_loss_is_its_formula_without_padding():
    found, expected = totals(SigmoidContrastive(), batch()), logits(batch())
    sign = 2 * np.eye(len(KEPT)) - 1
    np.testing.assert_allclose(found['loss'].total, np.log1p(np.exp(-sign * expected)).sum(), rtol=NEAR)
    assert found['accuracy'].total == (expected.argmax(axis=-1) == np.arange(len(KEPT))).sum()


@pytest.mark.long
@pytest.mark.parametrize('task', [Contrastive(), SigmoidContrastive(), SigmoidContrastive(chunk=2)], ids=repr)
def test_rows_spread_over_devices_give_the_loss_and_the_gradient_of_all(task):
    rows = batch()
    spread = jax.tree.map(lambda leaf: leaf.reshape(4, 2, *leaf.shape[1:]), rows)

    def loss(weight, rows, task):
        return task.loss(Given(), {'weight': weight}, rows, jax.random.key(0), True)['loss'].total

    learn = jax.value_and_grad(loss)
    whole = learn(jnp.ones(2), rows, task)
    devices = jax.vmap(lambda rows: learn(jnp.ones(2), rows, task.across('d')), axis_name='d')(spread)
    parts = (leaf.sum(axis=0) for leaf in devices)
    for found, right in zip(parts, whole, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=NEAR)


def split_of(item):
    return SimpleNamespace(rows=SimpleNamespace(items=lambda rows: tuple(zip(*map(item, rows), strict=True))))


def test_any_caption_of_an_image_is_right_and_an_image_is_counted_once():
    """As of COCO, whose images have five captions each, of which two are the same here."""
    images, row = np.eye(8), np.arange(40)
    close = images[row // 5] + 0.01 * np.random.default_rng(0).normal(size=(40, 8))
    close[row % 5 == 1] = close[row % 5 == 0]
    predictions = {'image': images[row // 5], 'text': close, 'example': np.where(row < 35, row, -1)}
    found = Contrastive().evaluate(predictions, split_of(lambda row: (row // 5, row - (row % 5 == 1))))
    assert {each.value for each in found.values()} == {1.0}
    wrong = {**predictions, 'text': np.concatenate([np.roll(close[:35], 5, axis=0), close[35:]])}
    found = Contrastive().evaluate(wrong, split_of(lambda row: (row // 5, row - (row % 5 == 1))))
    assert found['image_to_text_recall_at_1'].value == found['text_to_image_recall_at_1'].value == 0.0


def test_retrieval_is_measured_both_ways_and_without_padding():
    found = Contrastive().predict(Given(), {'weight': jnp.ones(2)}, batch())
    measured = Contrastive().evaluate(jax.tree.map(np.asarray, found), split_of(lambda row: (row, row)))
    expected = logits(batch())
    for way, of in {'image_to_text': expected, 'text_to_image': expected.T}.items():
        rank = (of >= np.diag(of)[:, None]).sum(axis=-1)
        assert measured[f'{way}_recall_at_1'].value == pytest.approx((rank == 1).mean())
        assert measured[f'{way}_mrr'].value == pytest.approx((1 / rank).mean())
