# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the tasks of images and captions: each is encoded separately, and their vectors are compared."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Array

from saccade.metric.retrieval import Distinct, ranks, retrieved
from saccade.task.base import Forward, TaskBase, context_of
from saccade.types import Batch, Estimate, ImageTextModel, LayerContext, Metric, Params, PRNGKey

WAYS = ('image_to_text', 'text_to_image')


class ImageText(TaskBase):
    """Base of the tasks of images and captions.

    Runs and checkpoints are ranked by retrieval over the whole split, since the loss depends on the batch size.
    """

    trains: ClassVar[tuple[type, str]] = (ImageTextModel, 'a dual encoder of images and texts')
    reads: ClassVar[tuple[str, ...]] = ('images', 'tokens', 'segments', 'positions', 'example')
    evaluates: ClassVar[tuple[Metric, ...]] = tuple(each.prefixed(way) for way in WAYS for each in retrieved.reports)
    best_by: ClassVar[str] = 'image_to_text_mrr'
    then: ClassVar[dict[str, str]] = {'classify images': 'launch/zero_shot.py --split=validation'}

    def inputs(self, model: ImageTextModel, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return *self.given(batch), False

    def given(self, batch: Batch) -> tuple[Array, Array, LayerContext]:
        """Return the model's inputs: images, and captions with their context."""
        return batch['images'], batch['tokens'], context_of(batch)

    def predict(self, model: ImageTextModel, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the unit vectors of the image and the caption of each row, and its example."""
        found = Forward(model, params)(*self.given(batch), False)
        return {'image': found.image, 'text': found.text, 'example': batch['example']}

    def evaluate(self, predictions: Mapping[str, np.ndarray], split: Any) -> dict[str, Estimate]:
        """Return retrieval metrics over the whole split, from images to captions and the reverse.

        An image with several captions is one image, all of whose captions are right, and equal captions are one.
        """
        there = predictions['example'] >= 0
        image, text = predictions['image'][there], predictions['text'][there]
        items = split.rows.items(predictions['example'][there].tolist())
        found = {}
        for way, vectors, ids in zip(WAYS, ((image, text), (text, image)), (items, items[::-1]), strict=True):
            distinct = Distinct.of(*ids)
            at = ranks(vectors[0][distinct.queries], vectors[1][distinct.texts], distinct.right)
            found |= {f'{way}_{name}': each for name, each in retrieved(at).items()}
        return found
