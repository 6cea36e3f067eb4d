# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""One-to-one translation of words: the next target word depends only on the time step, or on the words.

Aitken, Ramasesh, Cao and Maheswaranathan 2021, "Understanding How Encoder-Decoder Architectures Attend",
https://arxiv.org/abs/2110.15253, decompose attention on tasks of this kind. `Permuted` is ours, since theirs is
unpublished; its order depends on the words, so attention must follow them.
"""

from dataclasses import dataclass

from saccade.data.synthetic.drawing import Draws
from saccade.data.synthetic.generated import GeneratedPair
from saccade.data.synthetic.sequences import SequenceBase
from saccade.types import UserError

__all__ = ['OneToOne', 'Permuted']


@dataclass(frozen=True, kw_only=True)
class OneToOne(SequenceBase):
    """One-to-one translation: x3 x1 x3 has the target y3 y1 y3."""

    def pair(self, draws: Draws) -> GeneratedPair:
        """Return a pair from draws; its key is the target."""
        words = self.drawn(draws, self.length(draws))
        target = _spelled('y', self.written(words))
        return GeneratedPair(_spelled('x', words), target, target)

    def drawn(self, draws: Draws, length: int) -> list[int]:
        """Return the words of a source, at random."""
        return [draws.below(self.symbols) for _ in range(length)]

    def written(self, words: list[int]) -> list[int]:
        """Return the target words."""
        return words


@dataclass(frozen=True, kw_only=True)
class Permuted(OneToOne):
    """Permuted one-to-one translation: x3 x1 x4 x2 has the target y3 y4 y1 y2.

    The words are distinct, and are translated in cyclic order from the first.

    The neighbours of a word in the source carry no information on its neighbours in the target, nor does the time step
    determine the next word: only the previous word does.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest > self.symbols:
            raise UserError(f'data.generator: {self.longest} distinct words cannot be drawn of {self.symbols} symbols')

    def drawn(self, draws: Draws, length: int) -> list[int]:
        """Return `length` distinct words, in random order."""
        return draws.sample(range(self.symbols), length)

    def written(self, words: list[int]) -> list[int]:
        """Return the words in cyclic order from the first."""
        return sorted(words, key=lambda word: (word - words[0]) % self.symbols)


def _spelled(letter: str, words: list[int]) -> str:
    return ' '.join(f'{letter}{word}' for word in words)
