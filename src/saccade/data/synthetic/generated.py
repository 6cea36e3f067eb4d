# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generated source-target pairs: the right target is known, and row n is a function of n and the seed.

What a pair is about, its `key`, decides by a hash which split it may be in; a row draws until it has one of its own
split. So nothing that is asked in validation was ever seen in training, in whatever words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple, Protocol, runtime_checkable

from saccade.data.cache import digest, spec
from saccade.data.corpus.document import draw
from saccade.data.corpus.record_files import Record
from saccade.data.corpus.records import Records
from saccade.data.pairs.base import FromPairs
from saccade.data.synthetic.drawing import Draws
from saccade.types import Count, CountOrZero, Part, Range, UserError

__all__ = ['Generated']

_SPLITS = ('train', 'validation')
_PATIENCE = 10_000  # draws until a split is said to have no pair


class Pair(NamedTuple):
    """Generated source-target pair. Attributes: the source, the target, and what the pair is about."""

    source: str
    target: str
    key: str


@runtime_checkable
class Generator(Protocol):
    """Protocol of a generator of pairs. `version` changes whenever the same draws make another pair."""

    version: int

    def pair(self, draws: Draws) -> Pair:
        """Make a pair of what is drawn."""
        ...


@dataclass(frozen=True, eq=False)
class GeneratedRecords(Sequence[Record]):
    """Generated pairs of one split, as records.

    Attributes: split, by number; rows, how many; held_out, the share of all there is that is for validation.
    """

    generator: Generator
    split: int
    rows: int
    seed: int
    held_out: float

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, index: int) -> Record:
        if not 0 <= index < self.rows:
            raise IndexError(index)
        draws = Draws(self.seed, self.split, index)
        for _ in range(_PATIENCE):
            pair = self.generator.pair(draws)
            if (draw(pair.key) < self.held_out) == (_SPLITS[self.split] == 'validation'):
                return {'source': pair.source, 'target': pair.target}
        raise UserError(f'data.generator: it makes so few different pairs that none is for {_SPLITS[self.split]}')

    def place(self, index: int) -> str:
        """Where a pair stands."""
        return f'{_SPLITS[self.split]}[{index}]'


@dataclass(frozen=True, kw_only=True)
class Generated(FromPairs):
    """Dataset of generated source-target pairs.

    Attributes:
    generator: what pairs are made, as `data.synthetic.dates:Dates`.
    train, validation: pairs of each split.
    seed: another one makes other pairs; what is held out stays the same.
    held_out: the share of all there is to ask that training never sees.
    """

    generator: Part[Generator]
    train: Count
    validation: Count
    seed: CountOrZero = 0
    held_out: Annotated[float, Range(above=0, below=1)] = 0.1

    @property
    def _columns(self) -> tuple[str, str]:
        return 'source', 'target'

    def _open(self, cache: Path) -> Records:
        generator = self.generator()
        splits = {
            name: GeneratedRecords(generator, number, getattr(self, name), self.seed, self.held_out)
            for number, name in enumerate(_SPLITS)
        }
        sizes = self.train, self.validation, self.seed, self.held_out
        return Records(splits, digest(spec(self.generator), generator.version, sizes))
