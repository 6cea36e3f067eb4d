# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What the tasks of an encoder share: how its heads are read, what they score, and what there is to beat."""

from collections.abc import Mapping
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saccade.ops.loss import cross_entropy
from saccade.types import Batch, EncoderModel, Params, Part, PRNGKey, Scope, Total, UserError


class ReadsHead:
    """A task that reads one head of an encoder."""

    head: ClassVar[str]

    def init(self, model: EncoderModel, key: PRNGKey, batch: Batch) -> Params:
        """Initialise the model's parameters for batches of this shape."""
        return model.init(key, batch['tokens'], scope_of(batch), False)['params']

    def read(self, model: EncoderModel, params: Params, batch: Batch, key: PRNGKey, train: bool) -> Array:
        """Return what the head makes of a batch.

        Raises:
            UserError: the model has no such head.
        """
        outputs = model.apply({'params': params}, batch['tokens'], scope_of(batch), train, rngs={'dropout': key})
        if self.head not in outputs:
            there = ', '.join(outputs) or 'none'
            raise UserError(f"{Part(type(self)).name} reads the head '{self.head}'; config.model.heads has {there}")
        return outputs[self.head]


def scope_of(batch: Batch) -> Scope:
    """What an encoder's layers know of the tokens of a batch."""
    return Scope(batch['positions'], batch['segments'], types=batch.get('types'))


def scored(logits: Array, targets: Array, counts: Array, smoothing: float = 0.0) -> dict[str, Total]:
    """Return totals of loss, in nats, and accuracy over the targets that count."""
    losses, hits = cross_entropy(logits, targets, smoothing), jnp.argmax(logits, axis=-1) == targets
    weight = counts.sum()
    return {'loss': Total((losses * counts).sum(), weight), 'accuracy': Total((hits * counts).sum(), weight)}


def by_example(
    predictions: Mapping[str, np.ndarray],
) -> tuple[Float[np.ndarray, 'examples C'], Int[np.ndarray, 'examples']]:
    """Return the mean logits of the rows of each example, and the first of these rows; padding is of none."""
    rows = np.flatnonzero(predictions['example'] >= 0)
    _, first, which, counts = np.unique(
        predictions['example'][rows], return_index=True, return_inverse=True, return_counts=True
    )
    sums = np.zeros((len(counts), predictions['logits'].shape[-1]))
    np.add.at(sums, which, predictions['logits'][rows])
    return sums / counts[:, None], rows[first]


def surprise(train: Int[np.ndarray, '_'], labels: Int[np.ndarray, '_'], classes: int) -> float:
    """Return the mean nats of labels for who knows how frequent each class is in training, and no more."""
    counts = np.bincount(train, minlength=classes) + 1  # so that none is impossible
    return float(np.log(counts.sum()) - np.log(counts[labels]).mean())
