# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sequence-to-sequence modelling, such as translation: predict each target token from those before it and the source.

    loss = - sum over t of log p(token_{t+1} | token_{<= t}, source) / number of targets

Sutskever, Vinyals and Le 2014, https://arxiv.org/abs/1409.3215; with label smoothing, as in Vaswani et al. 2017,
section 5.4, https://arxiv.org/abs/1706.03762. Padding is not a target. Evaluation generates texts from the sources, and
compares them with the dataset's targets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Array

from saccade.metric.references import References
from saccade.ops.reinforce import choices_in
from saccade.task.base import SCORED, Forward, PredictsTokens
from saccade.task.causal_lm import CausalLM, context_of, totals_of
from saccade.types import (
    Batch,
    DecodingSearch,
    Estimate,
    LayerContext,
    Metric,
    Params,
    Part,
    PRNGKey,
    Seq2Seq,
    TextMetric,
    Tokens,
    Total,
)

__all__ = ['Translation']


@dataclass(frozen=True)
class Translation(PredictsTokens):
    """Sequence-to-sequence task: translation and summarisation among others.

    Attributes: as in `task.base:PredictsTokens`, and
        search: generation of the evaluated texts, as `decode.greedy:Greedy`.
        metrics: metrics of the texts, as `metric.translation:BLEU`.
    """

    search: Part[DecodingSearch]
    metrics: tuple[Part[TextMetric], ...]

    trains: ClassVar[tuple[type, str]] = (Seq2Seq, 'an encoder-decoder')
    reads: ClassVar[tuple[str, ...]] = (*CausalLM.reads, 'source', 'source_segments', 'source_positions', 'end')
    reports: ClassVar[tuple[Metric, ...]] = SCORED
    then: ClassVar[dict[str, str]] = {'translate': 'launch/translate.py {text}'}

    def __post_init__(self) -> None:
        self.search()  # a wrong search is refused now, not at the first evaluation

    @property
    def evaluates(self) -> tuple[Metric, ...]:
        """Declarations of the metrics of texts."""
        return tuple(each for metric in self.metrics for each in getattr(metric(), 'reports', ()))

    def inputs(self, model: Seq2Seq, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """Return the arguments of the model's `init`, after the key."""
        return *given(batch), False

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over targets: `loss` in nats, and `accuracy`."""
        return self.totals_after(forward, batch, *given(batch))

    def totals_after(
        self,
        forward: Forward,
        batch: Batch,
        source: Array,
        source_context: LayerContext,
        tokens: Tokens,
        context: LayerContext,
    ) -> dict[str, Total]:
        """Return the totals over the targets of a batch, after these inputs of the model."""
        inputs = source, source_context, tokens, context
        output = forward(*inputs, forward.train, method=self.method(forward.model))
        scores = self.each_target(output, batch['tokens'][:, 1:], forward.train, forward.key)
        return totals_of(scores, batch, choices_in(forward.reports.get('choices')))

    def predict(self, model: Seq2Seq, params: Params, batch: Batch) -> dict[str, Array]:
        """Return the generated tokens of each row, their number, and the index of the row."""
        written = self.search()(model, params, batch)
        return {'tokens': written.tokens, 'counts': written.counts, 'row': batch['row']}

    def evaluate(self, predictions: Mapping[str, Any], split: Any) -> dict[str, Estimate]:
        """Return the metrics of the generated texts over all predicted rows.

        Args:
            split: decodes tokens by `text`, and has `references` by row index.
        """
        real = np.flatnonzero(predictions['row'] >= 0)
        tokens, counts, rows = (predictions[name][real] for name in ('tokens', 'counts', 'row'))
        texts = [split.text(ids[:count]) for ids, count in zip(tokens, counts, strict=True)]
        return self.measured(texts, [split.references[row] for row in rows.tolist()])

    def measured(self, texts: Sequence[str], references: References) -> dict[str, Estimate]:
        """Return the metrics of texts."""
        return {name: each for metric in self.metrics for name, each in metric()(texts, references).items()}


def given(batch: Batch) -> tuple[Array, LayerContext, Array, LayerContext]:
    """Return the model's inputs from a batch: the source, and the target tokens without the last."""
    source = LayerContext(batch['source_positions'], batch['source_segments'])
    return batch['source'], source, batch['tokens'][:, :-1], context_of(batch)
