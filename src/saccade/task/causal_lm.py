# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Causal language modelling: predict each token from those before it.

    loss = - sum over t of log p(token_{t+1} | token_{<= t}) / number of targets

Targets never cross from one packed document into the next, and padding is no target.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool

from saccade.ops.loss import cross_entropy
from saccade.ops.reinforce import Choices, surrogate
from saccade.task.base import Forward, TaskBase
from saccade.types import Batch, LanguageModel, LayerContext, Logits, Params, PRNGKey, Share, Total, require_share


@dataclass(frozen=True)
class CausalLM(TaskBase):
    """Causal language modelling.

    Attributes: label_smoothing, the share of the target distribution that is uniform, in training.
    """

    label_smoothing: Share = 0.0

    trains: ClassVar[tuple[type, str]] = (LanguageModel, 'a decoder')
    reads: ClassVar[tuple[str, ...]] = ('tokens', 'segments', 'positions')
    then: ClassVar[dict[str, str]] = {'sample from it': 'launch/generate.py {prompt}'}

    def __post_init__(self) -> None:
        require_share('task', label_smoothing=self.label_smoothing)

    def inputs(self, model: LanguageModel, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return batch['tokens'][:, :-1], context_of(batch), False

    def totals(
        self, forward: Forward, model: LanguageModel, params: Params, batch: Batch, key: PRNGKey
    ) -> dict[str, Total]:
        """Return totals over targets: `loss` in nats, and `accuracy`."""
        logits = forward(model, params, batch['tokens'][:, :-1], context_of(batch), forward.train, key=key)
        return totals_of(logits, batch, self.label_smoothing if forward.train else 0.0)


def totals_of(logits: Logits, batch: Batch, smoothing: float, choices: Sequence[Choices] = ()) -> dict[str, Total]:
    """Return totals of the logits of each next token.

    Args:
        choices: drawn by parts; the loss is then that of REINFORCE, and the bare one `cross_entropy`.
    """
    targets, weights = batch['tokens'][:, 1:], is_target(batch).astype(jnp.float32)
    losses = cross_entropy(logits, targets, smoothing)
    # A maximum, which the loss takes too, in place of an argmax; a tie counts as a hit.
    hits = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0] >= logits.max(axis=-1)
    count = weights.sum()
    loss = Total((losses * weights).sum(), count)
    totals = {'loss': loss, 'accuracy': Total((hits * weights).sum(), count)}
    if not choices:
        return totals
    added = sum(surrogate(losses, weights, made) for made in choices)
    return {**totals, 'cross_entropy': loss, 'loss': Total(loss.total + added, count)}


def is_target(batch: Batch) -> Bool[Array, 'B T']:
    """Where the next token belongs to the same document."""
    segments = batch['segments']
    return (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] != 0)


def context_of(batch: Batch) -> LayerContext:
    """What the layers may know of the tokens that each have a next one."""
    return LayerContext(batch['positions'][:, :-1], batch['segments'][:, :-1])
