# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parallel texts: sources with their translations or summaries, from the user's files or a TFDS dataset.

path='multi30k', source='en', target='de'             a folder with train.en, train.de, val.en, val.de
path='pairs.tsv', source='0', target='1'              a table, with columns by name or number
name='wmt17_translate/de-en', source='en', target='de'
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from saccade.data.corpus.dataset import require_source
from saccade.data.corpus.parallel_files import open_parallel
from saccade.data.corpus.records import Records, RecordSource, open_records
from saccade.data.pairs.base import FromPairs
from saccade.paths import expanded
from saccade.types import HeldOut, UserError

__all__ = ['Parallel']


@dataclass(frozen=True, kw_only=True)
class Parallel(FromPairs):
    """Parallel texts: sources with their translations or summaries.

    Attributes:
    source, target: their languages, or their columns.
    name: a TFDS dataset.
    path: line-aligned files as in `data.corpus.parallel_files`, or records as in `data.corpus.records`.
    validation: fraction of pairs for validation, if there is no such split.
    tag: column of the target's language, xx, for a multilingual model: each source begins with the word <2xx>, as do
        texts to translate (Johnson et al. 2017, "Google's Multilingual Neural Machine Translation System: Enabling
        Zero-Shot Translation", section 3, https://arxiv.org/abs/1611.04558). None for no tag.
    """

    source: str
    target: str
    name: str | None = None
    path: str | None = None
    validation: HeldOut = 0.1
    tag: str | None = None

    @property
    def _columns(self) -> tuple[str, str]:
        return self.source, self.target

    def _open(self, cache: Path) -> Records:
        given = None if self.path else self.name
        require_source(given, self.path, self.validation)
        found = open_parallel(expanded(self.path), self._columns, self.validation) if self.path else None
        if found and self.tag:
            raise UserError(f'data.tag: line-aligned files have no column {self.tag!r}; give records, such as .tsv')
        columns = *self._columns, *self._added
        return found or open_records(given, self.path, cache, self.validation, columns, tests=True)

    @property
    def _added(self) -> tuple[str, ...]:
        return (self.tag,) if self.tag else ()

    def _pairs(self, records: RecordSource) -> Iterator[tuple[str, str]]:
        for index, (source, target) in enumerate(super()._pairs(records)):
            yield f'{self._tag(records, index)}{source}', target

    def _tag(self, records: RecordSource, index: int) -> str:
        """Return the tag of a pair with the space after it; '' if pairs have none."""
        if not self.tag:
            return ''
        language = records[index][self.tag]
        if not isinstance(language, str) or not language.strip():
            raise UserError(f"{records.place(index)}: '{self.tag}' is not the name of a language, but {language!r}")
        return f'<2{language.strip()}> '
