# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-token prediction: predict the next token, and with a head each the tokens after it.

    loss = L_1 + w / n * (L_2 + .. + L_(n+1)),   L_k = mean over its targets of -log p_k(token_(t+k) | token_<=t ..)

Gloeckle et al. 2024, https://arxiv.org/abs/2404.19737, equation 2, has w = n. DeepSeek-AI 2024, "DeepSeek-V3",
equation 25, https://arxiv.org/abs/2412.19437, has w = 0.3 for the first 10 of 14.8 trillion tokens, then 0.1. An
evaluation's `loss` is L_1, which compares with that of a model without the heads. The logits of all heads take n + 1
times the memory, unless `vocabulary_chunk` is set. The heads: `model.multi_token`.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.ops.vocabulary import OutputProjection
from saccade.task.answering import Answering, answered
from saccade.task.base import LOSS, Forward, PredictsTokens, TokenScores, context_of, over_targets
from saccade.task.causal_lm import CausalLM, is_target
from saccade.task.causal_lm import context_of as context_of_inputs
from saccade.types import (
    IGNORED,
    Batch,
    Count,
    LanguageModel,
    LayerContext,
    Metric,
    NotNegative,
    Scales,
    Tokens,
    Total,
    UserError,
)

__all__ = ['MultiTokenAnswering', 'MultiTokenPrediction']

Labels = Int[Array, 'B T']


@runtime_checkable
class HasHeadsAhead(LanguageModel, Protocol):
    """Protocol of a language model with heads for later tokens."""

    def projection_ahead(self, tokens: Tokens, context: LayerContext, train: bool) -> OutputProjection:
        """Return hidden states for each distance, [B (1 + n) T D], with their projection to the vocabulary."""
        ...


@dataclass(frozen=True, kw_only=True)
class PredictsAhead(PredictsTokens):
    """Base of multi-token prediction, to be combined with a task of one token.

    Attributes:
        ahead: number of heads for later tokens (n), that of `model.ahead.count`.
        weight: w, of the mean loss of these heads.
    """

    ahead: Count = 1
    weight: Scales[NotNegative] = 0.3

    trains: ClassVar[tuple[type, str]] = (HasHeadsAhead, 'a decoder with heads for later tokens')

    def at_each_distance(self, own: tuple[Metric, ...]) -> tuple[Metric, ...]:
        """Return the metrics of the next token and of each later one; the bare loss is L_1, in training."""
        later = (each.prefixed(f'ahead_{distance}') for distance in self.distances[1:] for each in own)
        return *own, replace(LOSS, name=self.bare), *later

    @property
    def distances(self) -> range:
        """Distances of the targets, in tokens."""
        return range(1, self.ahead + 2)

    def scored(self, scores: TokenScores, labels: Labels) -> dict[str, Total]:
        """Return the totals of one distance; IGNORED labels do not count. Subclasses override it."""
        raise NotImplementedError

    def by_distance(self, forward: Forward, tokens: Tokens, context: LayerContext, labels: Labels) -> dict[str, Total]:
        """Return totals by name: of the next token under their own names, of later ones as `ahead_2_loss`.

        Args:
            labels: next token or answer of each place, or IGNORED.

        Raises:
            UserError: the model has another number of heads.
        """
        output = forward(tokens, context, forward.train, method='projection_ahead')
        if (heads := output.hidden.shape[1] // tokens.shape[1] - 1) != self.ahead:
            raise UserError(f'task.ahead: must be {heads}, the number of heads in model.ahead.count, not {self.ahead}')
        shifted = [_ahead(labels, context, distance - 1) for distance in self.distances]
        output = output if self.method(forward.model) else output.logits()
        targets = jnp.maximum(jnp.concatenate(shifted, axis=1), 0)
        scores = self.each_target(output, targets, forward.train, forward.key)
        first, *later = map(self.scored, _split(scores, len(shifted)), shifted)
        ahead = {f'ahead_{at}_{name}': total for at, of in enumerate(later, start=2) for name, total in of.items()}
        if not forward.train:
            return {**first, **ahead}
        loss = first['loss'].plus(*(of['loss'].times(self.weight / self.ahead) for of in later))
        return {**first, **ahead, self.bare: first['loss'], 'loss': loss}


@dataclass(frozen=True, kw_only=True)
class MultiTokenPrediction(PredictsAhead, CausalLM):
    """Multi-token prediction of texts. Attributes: as in `PredictsAhead` and `task.base:PredictsTokens`."""

    @property
    def reports(self) -> tuple[Metric, ...]:
        """Metrics of the next token, and of each later one."""
        return self.at_each_distance(CausalLM.reports)

    def scored(self, scores: TokenScores, labels: Labels) -> dict[str, Total]:
        """Return totals over the targets: `loss` in nats, and `accuracy`."""
        return over_targets(scores.losses, scores.hits, (labels != IGNORED).astype(jnp.float32))

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over targets: `loss` and `accuracy` of the next token, then of each head."""
        labels = jnp.where(is_target(batch), batch['tokens'][:, 1:], IGNORED)
        return self.by_distance(forward, batch['tokens'][:, :-1], context_of_inputs(batch), labels)


@dataclass(frozen=True, kw_only=True)
class MultiTokenAnswering(PredictsAhead, Answering):
    """Multi-token prediction of the answers of the next places. Attributes: as in `PredictsAhead` and `Answering`.

    Raises:
        UserError: `answers` is set; the heads predict at all places.
    """

    def __post_init__(self) -> None:
        if self.answers is not None:
            raise UserError('task.answers: must be None, as heads for later answers predict at all places')

    @property
    def reports(self) -> tuple[Metric, ...]:
        """Metrics of the answer at each place, and of each later one."""
        return self.at_each_distance(Answering.reports)

    def scored(self, scores: TokenScores, labels: Labels) -> dict[str, Total]:
        """Return the totals of `answered`."""
        return answered(scores, labels)

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return the totals of `answered`, by distance."""
        return self.by_distance(forward, batch['tokens'], context_of(batch), batch['labels'])


def _ahead(labels: Labels, context: LayerContext, distance: int) -> Labels:
    """Return the labels `distance` places later; IGNORED where another segment, or none, is there."""
    if distance == 0:
        return labels
    later, segments = (jnp.roll(each, -distance, axis=1) for each in (labels, context.numbered))
    return jnp.where(segments == context.numbered, later, IGNORED).at[:, -distance:].set(IGNORED)


def _split(scores: TokenScores, count: int) -> list[TokenScores]:
    """Return the scores of each distance."""
    parts = [[None] * count if each is None else jnp.split(each, count, axis=1) for each in scores]
    return [TokenScores(*of) for of in zip(*parts, strict=True)]
