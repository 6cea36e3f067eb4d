# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Report of the decomposition of a run's cross-attention into temporal, input and residual components."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.data.pipeline import eval_batches
from saccade.data.split import Row
from saccade.inside.attended import HeadInputs, heads_of
from saccade.inside.decomposition import PARTS, Decomposed, ScoreTerms
from saccade.train.digests import prepare_again
from saccade.train.experiment import Experiment
from saccade.train.trained import config_of, open_run
from saccade.train.workdir import Workdir
from saccade.types import Seq2Seq, UserError

TERMS = [f'{query} x {key}' for query in PARTS for key in PARTS]
_NOTES = (
    'Temporal is the mean over rows at each time; input is the mean over the occurrences of a token, after subtracting '
    'temporal.',
    'Figures of states are shares of the squared norm. Figures of terms are their covariance with the scores over the '
    'keys of a query, as a share; negative terms oppose the scores.',
)


@dataclass(frozen=True, eq=False)
class DecomposedHead:
    """Decomposed hidden states of one head.

    Attributes: name; decoder and encoder, the states of both sides; scale of their products, or None.
    """

    name: str
    decoder: Decomposed
    encoder: Decomposed
    scale: float | None

    @classmethod
    def of(cls, head: HeadInputs, batch: Row) -> 'DecomposedHead':
        """Decompose the states of a head by the input tokens of either side."""
        written, read = batch['tokens'][:, :-1], batch['source']
        return cls(
            head.name,
            Decomposed.of(head.queries, written, batch['segments'][:, :-1] > 0),
            Decomposed.of(head.keys, read, batch['source_segments'] > 0),
            head.scale,
        )

    @property
    def terms(self) -> ScoreTerms | None:
        """Return the nine terms of its scores; None if the scores are not products. Large, and not cached."""
        return None if self.scale is None else ScoreTerms.of(self.decoder, self.encoder, self.scale)

    def record(self) -> dict[str, Any]:
        """Return all figures by name."""
        sides = {name: getattr(self, name).shares() for name in ('encoder', 'decoder')}
        found: dict[str, Any] = {name: dict(zip(PARTS, shares.tolist(), strict=True)) for name, shares in sides.items()}
        error = max(self.encoder.error(), self.decoder.error())
        if (terms := self.terms) is not None:
            found |= {'terms': _by_term(terms.shares()), 'alone': _by_term(terms.alone())}
            error = max(error, terms.error())
        return {'head': self.name, **found, 'error': error}


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Decomposition of the attention of a run.

    Attributes: name of the run; its heads; the batch of rows.
    """

    what: str
    heads: list[DecomposedHead]
    batch: Row = field(repr=False)

    @classmethod
    def of(cls, workdir: str, rows: int, which: str = 'latest') -> 'Decomposition':
        """Decompose a run on `rows` rows of its validation split.

        Raises:
            UserError: the run does not exist, is not a sequence-to-sequence model, or does not expose its states.
        """
        folder = Workdir.existing(workdir)
        experiment = Experiment.of(config_of(folder))
        if not isinstance(experiment.model(), Seq2Seq):
            raise UserError(f'{experiment.model.name}: not a sequence-to-sequence model, so it has no cross-attention')
        split = prepare_again(folder, experiment).splits['validation']
        trained = open_run(workdir, which)
        batch = next(eval_batches(split, min(rows, len(split.rows))))
        heads = heads_of(experiment.model, trained.params, batch)
        return cls(f'{workdir} at step {trained.step}', [DecomposedHead.of(head, batch) for head in heads], batch)

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """Return the figures of each head."""
        return [head.record() for head in self.heads]

    def report(self) -> MeasurementReport:
        """Return tables of all heads."""
        rows = int((self.batch['segments'] > 0).any(-1).sum())
        error = max(record['error'] for record in self.records)
        figures = {'rows': rows, 'heads': self.records, 'error': error}
        notes = (*_NOTES, f'{rows} rows; the sums of the parts and of the terms are exact within {error:.1e}.')
        return MeasurementReport(self.what, figures, tuple(self._tables()), notes)

    def _tables(self) -> Sequence[Table]:
        columns = ('', *(f'{side}: {part}' for side in ('encoder', 'decoder') for part in PARTS))
        states = [
            (record['head'], *(_percent(record[side][part]) for side in ('encoder', 'decoder') for part in PARTS))
            for record in self.records
        ]
        scored = [record for record in self.records if 'terms' in record]
        if not scored:
            return [Table(f'{self.what}: parts of the states', columns, states)]
        titles = {
            'terms': 'terms of the scores, decoder x encoder',
            'alone': 'queries whose top key each term alone determines',
        }
        heads = ('', *(record['head'] for record in scored))
        return [
            Table(f'{self.what}: parts of the states that attention compares', columns, states),
            *(
                Table(title, heads, [(term, *(_percent(record[name][term]) for record in scored)) for term in TERMS])
                for name, title in titles.items()
            ),
        ]


def _by_term(values: np.ndarray) -> dict[str, float]:
    return dict(zip(TERMS, values.ravel().tolist(), strict=True))


def _percent(share: float) -> str:
    return f'{100 * share:z.1f}%'
