# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Weighted mixture of texts: training rows of several sources in chosen proportions.

    --config.data.sources="[{'use': 'data.text.mixture:TextSource', 'path': 'web.jsonl', 'weight': 3},
                            {'use': 'data.text.mixture:TextSource', 'name': 'pydocs'}]"

Of every four rows here, three are of web.jsonl. Each source is shuffled and repeated on its own, so a small one with a
large weight is seen for many epochs; batch n depends on the seed and n alone. Rows are counted, not tokens or
documents: where they are packed, all have about as many tokens. Each source is prepared and cached on its own, so that
new weights cost nothing, and a new source costs only itself. The tokenizer is trained on all sources, without weights.

Validation has all validation rows of all sources, in proportion to their numbers and not to the weights, so that losses
with other weights are comparable.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from saccade.data.cache import digest
from saccade.data.corpus.corpus import Corpus, open_corpus
from saccade.data.dataset_base import DatasetSource
from saccade.data.rows.pack import Rows
from saccade.data.split import Bucket, Row, Share, Split
from saccade.data.text.stream import TextBase, TextData, TextSplit
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.types import Part, Range, UserError

__all__ = ['TextMixture', 'TextSource']


@dataclass(frozen=True)
class TextSource:
    """Source of a mixture. Attributes: name, path and column as in TextData; weight, its share of the training rows."""

    name: str | None = None
    path: str | None = None
    column: str = 'text'
    weight: Annotated[float, Range(above=0)] = 1.0


@dataclass(frozen=True, eq=False)
class JoinedRows:
    """Rows of several sources, one source after another, or in an order.

    Attributes: order, [rows], numbers of the rows in the sequence of all sources; None for that sequence.
    """

    sources: tuple[Rows, ...]
    order: np.ndarray | None = None

    def __len__(self) -> int:
        return sum(map(len, self.sources))

    def __getitem__(self, row: int) -> Row:
        at = row if self.order is None else int(self.order[row])
        for rows in self.sources:
            if at < len(rows):
                return rows[at]
            at -= len(rows)
        raise IndexError(f'row {row} of {len(self)}')

    def padding(self) -> Row:
        """Return a row of padding."""
        return self.sources[0].padding()


@dataclass(frozen=True, eq=False, kw_only=True)
class MixedText(TextSplit):
    """Split of a mixture. Attributes: as in TextSplit, over all sources."""

    rows: JoinedRows

    @classmethod
    def of(cls, splits: Sequence[TextSplit]) -> 'MixedText':
        """Join the splits of the sources."""
        return cls(
            rows=JoinedRows(tuple(split.rows for split in splits)),
            targets=sum(split.targets for split in splits),
            bytes=sum(split.bytes for split in splits),
            tokens=sum(split.tokens for split in splits),
            documents=sum(split.documents for split in splits),
        )

    @property
    def streams(self) -> tuple[Rows, ...]:
        """The rows of each source."""
        return self.rows.sources


@dataclass(frozen=True, eq=False)
class MixedSource(DatasetSource):
    """Sources of a mixture, opened. Attributes: corpora, one for each."""

    corpora: tuple[Corpus, ...]

    def facts(self) -> dict[str, Any]:
        """Return the digest, and the facts of each source by its number."""
        each = {f'source {number}': corpus.facts() for number, corpus in enumerate(self.corpora)}
        return {'digest': self.digest, **each}


@dataclass(frozen=True, kw_only=True)
class TextMixture(TextBase):
    """Weighted mixture of texts for language models.

    Attributes: sources; tokenizer, context_length, pack and validation as in TextData.
    """

    sources: tuple[Part[TextSource], ...]

    def __post_init__(self) -> None:
        if not self.sources:
            raise UserError('data.sources: a mixture needs at least one source')

    def splits_of(self, source: MixedSource, processor: Tokenizer, cache: Path) -> dict[str, Split]:
        """Prepare each source, or load it from the cache, and mix their rows."""
        one = TextData(self.tokenizer, self.context_length, self.pack)  # the corpora are open, and it opens none
        splits = [one.splits_of(corpus, processor, cache) for corpus in source.corpora]
        train, validation = (MixedText.of([each[split] for each in splits]) for split in ('train', 'validation'))
        shares = tuple(Share(len(rows), part().weight) for rows, part in zip(train.streams, self.sources, strict=True))
        order = _interleaved([len(rows) for rows in validation.streams])
        return {
            'train': replace(train, buckets=(Bucket(train.rows, 1.0, shares),)),
            'validation': replace(validation, rows=replace(validation.rows, order=order)),
        }

    def _open(self, cache: Path) -> MixedSource:
        corpora = tuple(self._corpus(part(), cache) for part in self.sources)
        train = tuple(corpus.splits['train'] for corpus in corpora)
        return MixedSource({'train': train}, digest(*(corpus.digest for corpus in corpora)), corpora=corpora)

    def _corpus(self, source: TextSource, cache: Path) -> Corpus:
        return open_corpus(None if source.path else source.name, source.path, cache, self.validation, source.column)

    def _texts(self, examples: Sequence[Any]) -> Iterator[str]:
        return itertools.chain.from_iterable(map(super()._texts, examples))


def _interleaved(counts: Sequence[int]) -> np.ndarray:
    """Return the numbers of all rows in an order in which each source has its proportion of any first part."""
    places = np.concatenate([(np.arange(count) + 0.5) / max(count, 1) for count in counts])
    return np.argsort(places, kind='stable')
