# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Causal language modelling: predict each token from the tokens before it.

    loss = - sum over t of log p(token_{t+1} | token_{<= t}) / number of targets

Targets do not cross the boundaries of packed documents, and padding is not a target.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool

from saccade.ops.reinforce import Choices, surrogate
from saccade.task.base import SCORED, Forward, PredictsTokens, TokenScores, over_targets
from saccade.types import Batch, LanguageModel, LayerContext, Metric, PRNGKey, Total

__all__ = ['CausalLM']


@dataclass(frozen=True)
class CausalLM(PredictsTokens):
    """Causal language modelling. Attributes: as in `task.base:PredictsTokens`."""

    trains: ClassVar[tuple[type, str]] = (LanguageModel, 'a decoder')
    reads: ClassVar[tuple[str, ...]] = ('tokens', 'segments', 'positions')
    reports: ClassVar[tuple[Metric, ...]] = SCORED
    then: ClassVar[dict[str, str]] = {'sample from it': 'launch/generate.py {prompt}'}

    def inputs(self, model: LanguageModel, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return batch['tokens'][:, :-1], context_of(batch), False

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over targets: `loss` in nats, and `accuracy`."""
        method = self.method(forward.model)
        output = forward(batch['tokens'][:, :-1], context_of(batch), forward.train, method=method)
        return totals_of(self.each_target(output, batch['tokens'][:, 1:], forward.train, forward.key), batch)


def totals_of(scores: TokenScores, batch: Batch, choices: Sequence[Choices] = ()) -> dict[str, Total]:
    """Return totals of the scores of each next token.

    Args:
        choices: sampled by parts; the loss then has REINFORCE's surrogate, and `cross_entropy` is the bare loss.
    """
    weights = is_target(batch).astype(jnp.float32)
    totals = over_targets(scores.losses, scores.hits, weights)
    if not choices:
        return totals
    loss = totals['loss']
    added = sum(surrogate(scores.losses, weights, made) for made in choices)
    return {**totals, 'cross_entropy': loss, 'loss': Total(loss.total + added, loss.weight)}


def is_target(batch: Batch) -> Bool[Array, 'B T']:
    """Return True where the next token belongs to the same document."""
    segments = batch['segments']
    return (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] != 0)


def context_of(batch: Batch) -> LayerContext:
    """Return the context of the input tokens: all but the last of each row."""
    return LayerContext(batch['positions'][:, :-1], batch['segments'][:, :-1])
