# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Texts compared by their vectors: pairs or triplets in separate rows, with a class, a number or neither.

    tokens, segments, positions, types    [B texts T], 2 or 3 texts of T tokens each

Reimers and Gurevych 2019, "Sentence-BERT", section 3, https://arxiv.org/abs/1908.10084. `classified:Classified` and
`valued:Valued` have both texts in one row, where each token of one attends to the other. Here texts are read
separately, so a vector serves for every comparison; texts too long for a row are truncated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saccade.data.corpus.records import Records, RecordSource
from saccade.data.encoder.classified import Classified
from saccade.data.encoder.example_base import Examples, ExampleSplit
from saccade.data.encoder.valued import Valued
from saccade.data.rows.frame import Frame
from saccade.data.rows.ragged import Ragged
from saccade.data.rows.stacked_frame import StackedFrame
from saccade.data.tokenizer.tokenizer import Tokenizer

__all__ = ['Positives', 'SiameseClassified', 'SiameseValued']


@dataclass(frozen=True, kw_only=True)
class Siamese(Examples):
    """Base of texts in separate rows. Attributes: pair, column of the second text."""

    pair: str

    def _layout(self, frame: Frame) -> StackedFrame:
        return StackedFrame(frame, len(self._columns))

    def _cut(self, texts: Sequence[Ragged], room: int) -> tuple[np.ndarray, list[Ragged]]:
        example = np.arange(len(texts[0]))
        spans = (np.stack([np.zeros_like(example), np.minimum(text.lengths, room)], axis=-1) for text in texts)
        return example, [text.cut(example, span) for text, span in zip(texts, spans, strict=True)]


@dataclass(frozen=True, kw_only=True)
class SiameseClassified(Siamese, Classified):
    """Pairs of texts in separate rows with a class each, such as entailment, contradiction or neither."""


@dataclass(frozen=True, kw_only=True)
class SiameseValued(Siamese, Valued):
    """Pairs of texts in separate rows with a number each, such as their similarity."""


@dataclass(frozen=True, kw_only=True)
class Positives(Siamese):
    """Pairs of matching texts, such as a question and its answer; or triplets, with a text that does not match.

    Attributes: negative, column of a third text, which does not match the first; None for pairs.
    """

    negative: str | None = None

    answer: ClassVar[str] = 'example'  # the match of a first text is the second text with the same index
    padding_label: ClassVar[np.generic] = np.int32(-1)

    @property
    def inputs(self) -> dict[str, str]:
        """Column of each text of a record: `text` and `pair`, and `negative` if there are three."""
        return dict(zip(('text', 'pair', 'negative'), self._columns, strict=False))

    @property
    def example(self) -> dict[str, str]:
        """Sample text for each input, for the example commands that a run prints."""
        samples = 'How are files read?', 'Open the file and call read.', 'The square root of a number.'
        return dict(zip(self.inputs, samples, strict=False))

    def unanswered(self, records: RecordSource, names: tuple[str, ...], tokenizer: Tokenizer) -> ExampleSplit:
        """Return the rows of records, whose labels are their indices.

        Raises:
            UserError: a value is not text, or the tokenizer cannot encode a character.
        """
        return self._split(_numbered(records) | self._tokens(records, tokenizer), self.frame(tokenizer))

    @property
    def _columns(self) -> tuple[str, ...]:
        return super()._columns if self.negative is None else (*super()._columns, self.negative)

    @property
    def _answers(self) -> tuple[str, ...]:
        return ()

    def _labels_by_split(self, records: Records) -> dict[str, dict[str, np.ndarray]]:
        return {split: _numbered(source) for split, source in records.splits.items()}


def _numbered(records: RecordSource) -> dict[str, np.ndarray]:
    return {'example': np.arange(len(records), dtype=np.int32)}
