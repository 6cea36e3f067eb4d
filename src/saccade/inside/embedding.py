# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cosine similarity of texts, or of a word in its contexts; nearest neighbours of a token."""

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from saccade.analysis.report.figures import Table
from saccade.decode.embed import Embedded, Occurrence, Pool, cosines
from saccade.types import UserError

_SHOWN = 48  # characters of a text, or of a word with its context


@dataclass(frozen=True, eq=False)
class CosineComparison:
    """Comparison of vectors by their cosines.

    Attributes:
        title: description of the vectors.
        labels: one per vector.
        vectors: the vectors, in the order of the labels.
        figures: their origin, for JSON output.
    """

    title: str
    labels: list[str]
    vectors: Float[np.ndarray, 'A D']
    figures: dict[str, Any]

    @classmethod
    def of(cls, texts: Sequence[Embedded], pool: Pool, word: str | None) -> 'CosineComparison':
        """Compare the occurrences of a word in the texts, or without a word the pooled texts.

        Raises:
            UserError: a text does not contain the word.
        """
        pooled = [text.pooled(pool) for text in texts]
        figures = {
            'texts': [
                {'text': text.text, 'tokens': text.tokens, 'vectors': text.vectors.tolist(), 'pooled': vector.tolist()}
                for text, vector in zip(texts, pooled, strict=True)
            ]
        }
        if word is None:
            return cls('Cosines of the texts', [_cut(text.text) for text in texts], np.stack(pooled), figures)
        found = [(number, each) for number, text in enumerate(texts) for each in text.occurrences(word)]
        occurrences = [
            {'text': number, 'place': list(each.place), 'tokens': each.tokens, 'vector': each.vector.tolist()}
            for number, each in found
        ]
        return cls(
            f'Cosines of {word!r} in its contexts',
            [_around(texts[number].text, each) for number, each in found],
            np.stack([each.vector for _, each in found]),
            {**figures, 'occurrences': occurrences},
        )

    @property
    def cosines(self) -> Float[np.ndarray, 'A A']:
        """Return the cosine of each pair."""
        return cosines(self.vectors, self.vectors)

    def record(self) -> dict[str, Any]:
        """Return everything for JSON output."""
        return {**self.figures, 'cosines': self.cosines.tolist()}

    def table(self) -> Table:
        """Return the table of cosines."""
        rows = [
            (f'{number}  {label}', *(f'{cosine:z.3f}' for cosine in row))
            for number, (label, row) in enumerate(zip(self.labels, self.cosines, strict=True), 1)
        ]
        return Table(self.title, ('', *(str(number) for number in range(1, len(rows) + 1))), rows)

    def save(self, path: str) -> None:
        """Write the vectors as a NumPy file, atomically.

        Raises:
            UserError: the file cannot be written.
        """
        draft = Path(path).with_name(f'.{Path(path).name}.{uuid.uuid4().hex}')
        try:
            with draft.open('wb') as file:
                np.save(file, self.vectors)
            os.replace(draft, path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise UserError(f'cannot write the vectors to {path}: {error.strerror}') from error


@dataclass(frozen=True)
class Neighbours:
    """Nearest neighbours of a token. Attributes: the token; the nearest tokens in the embedding, with their cosines."""

    word: str
    near: list[tuple[str, float]]

    def record(self) -> dict[str, Any]:
        """Return everything for JSON output."""
        return {'nearest': [{'token': token, 'cosine': cosine} for token, cosine in self.near]}

    def table(self) -> Table:
        """Return the table of neighbours."""
        rows = [(token, f'{cosine:z.3f}') for token, cosine in self.near]
        return Table(f'Nearest to {self.word!r} in the embedding', ('token', 'cosine'), rows)


def _around(text: str, found: Occurrence) -> str:
    """Return a word in brackets with the text around it, of `_SHOWN` characters in all."""
    start, stop = found.place
    side = max(0, _SHOWN - (stop - start)) // 2
    return _flat(f'{text[max(0, start - side) : start]}[{text[start:stop]}]{text[stop : stop + side]}')


def _cut(text: str) -> str:
    flat = _flat(text)
    return flat if len(flat) <= _SHOWN else f'{flat[: _SHOWN - 3]}...'


def _flat(text: str) -> str:
    """Return a text on one line."""
    return ' '.join(text.split())
