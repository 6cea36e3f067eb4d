# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sentences with a made-up name, in a language without cases and one with them: an open vocabulary.

    bring the letter from Kamiro        epistu Kamirosta portat

Names are random, and no name of the validation split is in the training split, so a name must be read and written by
parts. A name cannot merely be copied either: its preposition becomes its ending, which is empty for one of the four.
"""

from dataclasses import dataclass
from typing import ClassVar

from saccade.data.synthetic.drawing import Draws
from saccade.data.synthetic.generated import GeneratedPair
from saccade.types import Count, UserError

__all__ = ['Names']

VERBS = {
    'bring': 'portat', 'buy': 'emat', 'hide': 'celat', 'read': 'legat', 'sell': 'vendat', 'send': 'mitat',
    'take': 'capat', 'write': 'scribat',
}  # fmt: skip
THINGS = {
    'book': 'libru', 'bread': 'panu', 'knife': 'cultru', 'lamp': 'lucu', 'letter': 'epistu', 'ring': 'anelu',
    'stone': 'petru', 'wine': 'vinu',
}  # fmt: skip
ENDINGS = {'by': '', 'for': 'ksi', 'from': 'sta', 'to': 'lle'}
CONSONANTS, VOWELS = 'bdfgklmnprstvz', 'aeiou'


@dataclass(frozen=True)
class Names:
    """Sentences with a name of random syllables, and their translations with its case.

    Attributes: shortest and longest, number of syllables of a name; there are 70 syllables.
    """

    shortest: Count = 3
    longest: int = 4

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.longest < self.shortest:
            raise UserError(f'data.generator: longest is {self.longest}, below shortest, {self.shortest}')

    def pair(self, draws: Draws) -> GeneratedPair:
        """Return a pair from draws; its key is the name."""
        verb, thing, preposition = (draws.choice([*words]) for words in (VERBS, THINGS, ENDINGS))
        syllables = range(draws.between(self.shortest, self.longest))
        name = ''.join(draws.choice(CONSONANTS) + draws.choice(VOWELS) for _ in syllables).capitalize()
        target = f'{THINGS[thing]} {name}{ENDINGS[preposition]} {VERBS[verb]}'
        return GeneratedPair(f'{verb} the {thing} {preposition} {name}', target, name)
