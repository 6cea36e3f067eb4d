# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Augmentations of images: what each changes and what it keeps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.augment.crop import Crop
from saccade.augment.flip import Flip
from saccade.augment.mixup import Mixup
from saccade.augment.shift import Shift
from saccade.ops.loss import cross_entropy
from saccade.ops.masking import row_keys
from saccade.task.classification import Classification
from saccade.types import IGNORED, Augmentation, Part, UserError

B, SIDE = 64, 6
IMAGES = jax.random.normal(jax.random.key(0), (B, SIDE, SIDE, 2))
BATCH = {'images': IMAGES, 'label': jnp.arange(B) % 3, 'example': jnp.arange(B)}
KEYS = row_keys(jax.random.key(1), BATCH['example'])
ALL = [Shift(2), Flip(), Crop(), Mixup()]


@pytest.mark.long
@pytest.mark.parametrize('augment', ALL, ids=lambda each: type(each).__name__)
def test_it_changes_images_alone_by_the_key_of_the_row(augment):
    assert isinstance(augment, Augmentation)
    found = augment(KEYS, BATCH)
    assert found['images'].shape == IMAGES.shape
    assert found['images'].dtype == IMAGES.dtype
    assert not jnp.array_equal(found['images'], IMAGES)
    assert jnp.array_equal(found['label'], BATCH['label'])
    again = augment(KEYS[-2:], jax.tree.map(lambda rows: rows[-2:], BATCH))  # as another device has them
    np.testing.assert_allclose(again['images'], found['images'][-2:], atol=1e-6)


@pytest.mark.long
def test_a_shift_moves_the_image_and_0_enters():
    found = np.asarray(Shift(1)(KEYS, BATCH)['images'])
    moves = set()
    for image, original in zip(found, np.pad(IMAGES, ((0, 0), (1, 1), (1, 1), (0, 0))), strict=True):
        places = [(y, x) for y in range(3) for x in range(3) if (image == original[y : y + SIDE, x : x + SIDE]).all()]
        assert len(places) == 1
        moves.update(places)
    assert len(moves) == 9


def test_a_flip_mirrors_a_share_of_the_images():
    found = Flip(0.25)(KEYS, BATCH)['images']
    flipped = (found == IMAGES[:, :, ::-1]).all(axis=(1, 2, 3))
    same = (found == IMAGES).all(axis=(1, 2, 3))
    assert (flipped ^ same).all()
    assert 4 <= flipped.sum() <= 32
    np.testing.assert_array_equal(Flip(0.0)(KEYS, BATCH)['images'], IMAGES)


@pytest.mark.long
def test_a_crop_scales_a_part_of_the_image_to_its_size():
    ramp = jnp.broadcast_to(jnp.arange(32.0)[:, None, None], (B, 32, 32, 1))  # each pixel is the number of its row
    found = np.asarray(Crop(least=0.25, ratio=1.0)(KEYS, {'images': ramp})['images'])
    steps = np.diff(found[:, 8:24, 5, 0], axis=-1)  # rows of the original a row, of which the image has 1
    np.testing.assert_allclose(steps, np.broadcast_to(steps[:, :1], steps.shape), atol=1e-3)
    assert (steps[:, 0] > 0.49).all()
    assert (steps[:, 0] < 1.01).all()
    assert steps[:, 0].std() > 0.05
    whole = Crop(least=1.0, ratio=1.0)(KEYS, BATCH)['images']
    np.testing.assert_allclose(whole, IMAGES, atol=1e-5)


@pytest.mark.long
def test_mixup_mixes_neighbours_and_their_losses():
    found = Mixup(alpha=1.0)(KEYS, BATCH)
    share = found['share']
    np.testing.assert_array_equal(share[::2], share[1::2])
    assert share.std() > 0.1
    other = np.arange(B) ^ 1
    weight = share[:, None, None, None]
    np.testing.assert_allclose(found['images'], weight * IMAGES + (1 - weight) * IMAGES[other], atol=1e-6)
    np.testing.assert_array_equal(found['other_label'], BATCH['label'][other])
    with pytest.raises(UserError, match='must be even, not 3'):
        Mixup()(KEYS[:3], jax.tree.map(lambda rows: rows[:3], BATCH))


class _Sums:
    """Logits that are the sums of the first columns of an image."""

    reads, vocabulary, context_length = 'images', None, 1

    def __call__(self, inputs, context, train, at=None):
        """As the protocol has it."""

    def apply(self, variables, images, *_, **__):
        return {'pooled': images.sum(axis=(1, 3))[:, :3] * variables['params']['scale']}, {}


@pytest.mark.long
def test_the_task_augments_in_training_alone_and_weighs_mixed_losses():
    batch = BATCH | {'positions': jnp.zeros((B, 1), int), 'segments': jnp.ones((B, 1), int)}
    task, key = Classification(augment=(Part(Flip), Part(Mixup))), jax.random.key(7)
    changed = batch
    for number, part in enumerate(task.augment):
        changed = part()(row_keys(jax.random.fold_in(key, number), batch['example']), changed)
    logits = changed['images'].sum(axis=(1, 3))[:, :3]
    share = changed['share']
    wanted = share * cross_entropy(logits, batch['label']) + (1 - share) * cross_entropy(logits, changed['other_label'])
    found = task.loss(_Sums(), {'scale': 1.0}, batch, key, train=True)
    np.testing.assert_allclose(found['loss'].mean(), wanted.mean(), rtol=1e-5)
    plain = Classification().loss(_Sums(), {'scale': 1.0}, batch, key, train=False)
    evaluated = task.loss(_Sums(), {'scale': 1.0}, batch, key, train=False)
    np.testing.assert_array_equal(evaluated['loss'].mean(), plain['loss'].mean())


def test_a_row_without_a_label_adds_nothing_to_the_row_that_it_is_mixed_into():
    labels = jnp.asarray(BATCH['label']).at[0].set(IGNORED)
    batch = BATCH | {'label': labels, 'positions': jnp.zeros((B, 1), int), 'segments': jnp.ones((B, 1), int)}
    task, key = Classification(augment=(Part(Mixup),)), jax.random.key(7)
    changed = Mixup()(row_keys(jax.random.fold_in(key, 0), batch['example']), batch)
    logits, share = changed['images'].sum(axis=(1, 3))[:, :3], changed['share']
    own, other = ((share, labels), (1 - share, changed['other_label']))
    weights = [part * (labels != IGNORED) * (label != IGNORED) for part, label in (own, other)]
    losses = [cross_entropy(logits, jnp.maximum(label, 0)) for _, label in (own, other)]
    assert (weights[1] < (1 - share)).sum() == 2  # of the row itself, and of the one that it is mixed into
    wanted = sum((part * loss).sum() for part, loss in zip(weights, losses, strict=True)) / sum(map(jnp.sum, weights))
    found = task.loss(_Sums(), {'scale': 1.0}, batch, key, train=True)
    np.testing.assert_allclose(found['loss'].mean(), wanted, rtol=1e-5)


def test_an_augmentation_of_something_else_is_refused():
    class Frames(_Sums):
        reads = 'frames'

    batch = BATCH | {'frames': IMAGES}
    with pytest.raises(UserError, match=r'augment\.flip:Flip changes images, and the model reads frames'):
        Classification(augment=(Part(Flip),)).loss(Frames(), {}, batch, jax.random.key(0), train=True)
