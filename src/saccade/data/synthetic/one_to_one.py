# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""One-to-one translation of words: which word comes next follows from the time alone, or from the words.

Tasks of this kind are what Aitken, Ramasesh, Cao and Maheswaranathan 2021, "Understanding How Encoder-Decoder
Architectures Attend", https://arxiv.org/abs/2110.15253, take attention apart on. `Permuted` is ours: theirs was not
published, and where a word is written has to depend on the words for attention to follow them.
"""

from dataclasses import dataclass

from saccade.data.synthetic.drawing import Draws
from saccade.data.synthetic.generated import Pair
from saccade.data.synthetic.sequences import Drawn
from saccade.types import UserError

__all__ = ['OneToOne', 'Permuted']


@dataclass(frozen=True, kw_only=True)
class OneToOne(Drawn):
    """One-to-one translation: x3 x1 x3 has the target y3 y1 y3."""

    def pair(self, draws: Draws) -> Pair:
        """Make a pair of what is drawn; it is about what is to be written."""
        words = self.drawn(draws, draws.between(self.shortest, self.longest))
        target = _spelled('y', self.written(words))
        return Pair(_spelled('x', words), target, target)

    def drawn(self, draws: Draws, length: int) -> list[int]:
        """Draw the words of a source."""
        return [draws.below(self.symbols) for _ in range(length)]

    def written(self, words: list[int]) -> list[int]:
        """Return the target words."""
        return words


@dataclass(frozen=True, kw_only=True)
class Permuted(OneToOne):
    """Permuted one-to-one translation: x3 x1 x4 x2 has the target y3 y4 y1 y2.

    The words differ, and are translated in the order of a circle, from the first on.

    Of the words before and after a word in the source nothing follows for those in the target; nor does which word is
    next follow from the time: only the word before it tells.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest > self.symbols:
            raise UserError(f'data.generator: {self.longest} different words cannot be drawn of {self.symbols} symbols')

    def drawn(self, draws: Draws, length: int) -> list[int]:
        """Return `length` different words, in random order."""
        return draws.sample(range(self.symbols), length)

    def written(self, words: list[int]) -> list[int]:
        """Return the words in the order of the circle, from the first word on."""
        return sorted(words, key=lambda word: (word - words[0]) % self.symbols)


def _spelled(letter: str, words: list[int]) -> str:
    return ' '.join(f'{letter}{word}' for word in words)
