# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sequence tasks: copying, reversing, sorting, addition, pointers, associative recall.

Copying and reversing measure the capacity of a fixed vector (Cho et al. 2014, section 4,
https://arxiv.org/abs/1409.1259); associative recall is from Ba et al. 2016, section 4.1,
https://arxiv.org/abs/1610.06258, and with several queries from Arora et al. 2023, https://arxiv.org/abs/2312.04927;
pointers are from Zhang et al. 2021, section 3, https://arxiv.org/abs/2107.12580, for single positions.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from saccade.data.synthetic.drawing import Draws
from saccade.data.synthetic.generated import GeneratedPair
from saccade.types import Count, Part, Range, UserError

__all__ = ['Addition', 'Copy', 'Pointer', 'Recall', 'Reverse', 'Sort']


@dataclass(frozen=True, kw_only=True)
class SequenceBase:
    """Base of generators that draw a sequence of words.

    Attributes:
        symbols: number of words (0, 1, ...).
        shortest, longest: minimum and maximum length, in words.
        doublings: draw each doubling of the length with the same chance, so that short sequences are as frequent as
            long ones; otherwise each length.
    """

    symbols: Count
    shortest: Count
    longest: int
    doublings: bool = False

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.longest < self.shortest:
            raise UserError(f'data.generator: longest is {self.longest}, below shortest, {self.shortest}')

    @classmethod
    def at_length(cls, part: Part, length: int) -> Part:
        """Return the generator of sequences of exactly `length` tokens, which are the words and the end token.

        Raises:
            UserError: there is no word.
        """
        if length < 2:
            raise UserError(
                f'a sequence of {length} token has no word before its end token; give a length of 2 or more'
            )
        return part.replace(shortest=length - 1, longest=length - 1)

    def pair(self, draws: Draws) -> GeneratedPair:
        """Return a pair from draws; its key is the target."""
        words = [draws.below(self.symbols) for _ in range(self.length(draws))]
        target = _joined(self.written(words))
        return GeneratedPair(_joined(words), target, target)

    def length(self, draws: Draws) -> int:
        """Draw the length of a sequence."""
        return (draws.of_a_doubling if self.doublings else draws.between)(self.shortest, self.longest)

    def written(self, words: list[int]) -> list[int]:
        """Return the target of a sequence."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Copy(SequenceBase):
    """Copying: 3 1 2 has the target 3 1 2."""

    def written(self, words: list[int]) -> list[int]:
        """Return the words unchanged."""
        return words


@dataclass(frozen=True, kw_only=True)
class Reverse(SequenceBase):
    """Reversing: 3 1 2 has the target 2 1 3."""

    def written(self, words: list[int]) -> list[int]:
        """Return the words in reverse order."""
        return words[::-1]


@dataclass(frozen=True, kw_only=True)
class Sort(SequenceBase):
    """Sorting: 3 1 2 has the target 1 2 3."""

    def written(self, words: list[int]) -> list[int]:
        """Return the words in ascending order."""
        return sorted(words)


@dataclass(frozen=True)
class Addition:
    """Addition: 12+345 has the target 357. A sum is held out in either order of its terms.

    Attributes:
        digits: maximum number of digits of a term.
        backwards: write the sum from its last digit to its first, in the order of carrying (Lee et al. 2023,
            https://arxiv.org/abs/2307.03381).
    """

    digits: Annotated[int, Range(least=1, most=15)]  # below 2^64, by which numbers are drawn
    backwards: bool = False

    version: ClassVar[int] = 1

    def pair(self, draws: Draws) -> GeneratedPair:
        """Return a pair from draws."""
        a, b = (draws.below(10 ** draws.between(1, self.digits)) for _ in range(2))
        total = str(a + b)
        return GeneratedPair(f'{a}+{b}', total[::-1] if self.backwards else total, f'{min(a, b)}+{max(a, b)}')


@dataclass(frozen=True)
class Pointer:
    """Pointer: 7 1 4 @2 has the target 4, the word at the index given last, counted from 0.

    The pointer comes last, so no word can be ignored while reading.

    Attributes:
        symbols: number of words to choose from.
        length: number of words in the sequence.
    """

    symbols: Count
    length: Count

    version: ClassVar[int] = 1

    def pair(self, draws: Draws) -> GeneratedPair:
        """Return a pair from draws."""
        words = [draws.below(self.symbols) for _ in range(self.length)]
        place = draws.below(self.length)
        source = f'{_joined(words)} @{place}'
        return GeneratedPair(source, str(words[place]), source)


@dataclass(frozen=True)
class Recall:
    """Associative recall: k3 v7 k1 v2 ? k1 has the target v2, the value of the queried key.

    Attributes:
        keys, values: number of each.
        pairs: number of pairs shown.
        asked: number of queried keys.
    """

    keys: int
    values: Count
    pairs: Count
    asked: Count = 1

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not self.asked <= self.pairs <= self.keys:
            raise UserError(
                f'data.generator: {self.asked} queries of {self.pairs} pairs of {self.keys} keys; each number must be '
                'at most the next'
            )

    def pair(self, draws: Draws) -> GeneratedPair:
        """Return a pair from draws."""
        shown = {f'k{key}': f'v{draws.below(self.values)}' for key in draws.sample(range(self.keys), self.pairs)}
        asked = draws.sample(list(shown), self.asked)
        source = ' '.join([*(f'{key} {value}' for key, value in shown.items()), '?', *asked])
        return GeneratedPair(source, ' '.join(shown[key] for key in asked), source)


def _joined(words: list[int]) -> str:
    return ' '.join(map(str, words))
