# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generated source-target pairs: the target is known, and row n is a function of n and the seed.

A hash of the pair's `key`, its content, decides its split; a row draws until a pair belongs to its own split. So no
validation content occurs in training, in any wording.
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
_PATIENCE = 10_000  # draws before a split is reported to have no pairs


class GeneratedPair(NamedTuple):
    """Generated source-target pair. Attributes: source; target; key, the content of the pair."""

    source: str
    target: str
    key: str


@runtime_checkable
class PairGenerator(Protocol):
    """Protocol of a generator of pairs. `version` must change when the same draws give another pair."""

    version: int

    def pair(self, draws: Draws) -> GeneratedPair:
        """Return a pair from draws."""
        ...


@runtime_checkable
class OfLength(PairGenerator, Protocol):
    """Protocol of a generator of pairs that can be evaluated at a given length."""

    @classmethod
    def at_length(cls, part: Part, length: int) -> Part:
        """Return the generator of sources and targets of exactly `length` tokens."""
        ...


@dataclass(frozen=True, eq=False)
class GeneratedRecords(Sequence[Record]):
    """Generated pairs of one split, as records.

    Attributes: split, its index; rows, number of rows; held_out, fraction of all keys for validation.
    """

    generator: PairGenerator
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
        raise UserError(f'data.generator: it has too few distinct pairs: none is for {_SPLITS[self.split]}')

    def place(self, index: int) -> str:
        """Return the place of a pair, for messages."""
        return f'{_SPLITS[self.split]}[{index}]'


@dataclass(frozen=True, kw_only=True)
class Generated(FromPairs):
    """Dataset of generated source-target pairs.

    Attributes:
    generator: generator of pairs, as `data.synthetic.dates:Dates`.
    train, validation: number of pairs per split.
    seed: random seed of the pairs; it does not affect the held-out keys.
    held_out: fraction of all keys that training never sees.
    """

    generator: Part[PairGenerator]
    train: Count
    validation: Count
    seed: CountOrZero = 0
    held_out: Annotated[float, Range(above=0, below=1)] = 0.1

    @classmethod
    def at_length(cls, part: Part, length: int) -> Part:
        """Return the config of the same data with texts of exactly `length` tokens, for validation.

        Raises:
            UserError: the generator has no lengths to choose from.
        """
        generator = part['generator']
        if not isinstance(generator(), OfLength):
            raise UserError(f'data.generator: {generator.name} has no lengths to choose from, so not {length} tokens')
        return part.replace(
            generator=generator.target.at_length(generator, length),
            source_context_length=length,
            context_length=length,
            buckets=(),
            train=1,  # not used, but made
        )

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
