# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Causal language modelling: predict each token from those before it.

    loss = - sum over t of log p(token_{t+1} | token_{<= t}) / number of targets

Targets never cross from one packed document into the next, and padding is no target.
"""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Bool

from saccade.ops.loss import cross_entropy
from saccade.types import Batch, LanguageModel, Params, PRNGKey, Scope, Total, UserError


@dataclass(frozen=True)
class CausalLM:
    """Attributes: label_smoothing, the share of the target distribution that is uniform, in training."""

    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.label_smoothing < 1:
            raise UserError(f'task.label_smoothing: a share is at least 0 and below 1, not {self.label_smoothing}')

    def init(self, model: LanguageModel, key: PRNGKey, batch: Batch) -> Params:
        """Initialise the model's parameters for batches of this shape."""
        return model.init(key, batch['tokens'][:, :-1], _scope(batch), False)['params']

    def loss(self, model: LanguageModel, params: Params, batch: Batch, key: PRNGKey, train: bool) -> dict[str, Total]:
        """Return totals over targets: `loss` in nats, and `accuracy`."""
        tokens, targets = batch['tokens'][:, :-1], batch['tokens'][:, 1:]
        logits = model.apply({'params': params}, tokens, _scope(batch), train, rngs={'dropout': key})
        weights = is_target(batch).astype(jnp.float32)
        losses = cross_entropy(logits, targets, self.label_smoothing if train else 0.0)
        # A maximum, which the loss takes too, in place of an argmax; a tie counts as a hit.
        hits = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0] >= logits.max(axis=-1)
        count = weights.sum()
        return {
            'loss': Total((losses * weights).sum(), count),
            'accuracy': Total((hits * weights).sum(), count),
        }


def is_target(batch: Batch) -> Bool[Array, 'B T']:
    """Where the next token belongs to the same document."""
    segments = batch['segments']
    return (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] != 0)


def _scope(batch: Batch) -> Scope:
    return Scope(batch['positions'][:, :-1], batch['segments'][:, :-1])
