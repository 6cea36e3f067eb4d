# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""SCAN: commands and their actions, such as 'jump twice after walk left' and 'LTURN WALK JUMP JUMP'.

    x and y: x, y        x after y: y, x        twice, thrice        walk left: LTURN WALK
    walk opposite left: LTURN LTURN WALK        walk around left: four times LTURN WALK

Lake and Baroni 2018, "Generalization without Systematicity", https://arxiv.org/abs/1711.00350, have commands of at most
two phrases: 20,910 in all. Aitken et al. 2021, https://arxiv.org/abs/2110.15253, extend them to longer ones. Our own
extension joins each phrase to everything before it. No command is in both splits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade.data.synthetic.drawing import Draws
from saccade.data.synthetic.generated import GeneratedPair
from saccade.types import Count, UserError

__all__ = ['Scan']

_TIMES = {'twice': 2, 'thrice': 3}
_TURNS = {'left': 'LTURN', 'right': 'RTURN'}
_MOVES = ('walk', 'look', 'run', 'jump')
_WAYS = tuple(f'{way}{side}' for way in ('', 'opposite ', 'around ') for side in _TURNS)
_DONE = (*_MOVES, *(f'{verb} {way}' for verb in (*_MOVES, 'turn') for way in _WAYS))
PHRASES = (*_DONE, *(f'{done} {times}' for done in _DONE for times in _TIMES))
JOINTS = ('and', 'after')


@dataclass(frozen=True)
class Scan:
    """SCAN commands and their actions. Attributes: fewest and most, number of phrases per command."""

    fewest: Count = 1
    most: int = 2

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.most < self.fewest:
            raise UserError(f'data.generator: most is {self.most}, below fewest, {self.fewest}')

    def pair(self, draws: Draws) -> GeneratedPair:
        """Return a pair from draws; its key is the command."""
        words = [draws.choice(PHRASES)]
        for _ in range(draws.between(self.fewest, self.most) - 1):
            words += [draws.choice(JOINTS), draws.choice(PHRASES)]
        command = ' '.join(words)
        return GeneratedPair(command, actions(command), command)


def actions(command: str) -> str:
    """Return the actions of a command."""
    done: list[str] = []
    joint, phrase = 'and', []
    for word in (*command.split(), 'and'):
        if word in JOINTS:
            done = done + _actions(phrase) if joint == 'and' else _actions(phrase) + done
            joint, phrase = word, []
        else:
            phrase.append(word)
    return ' '.join(done)


def _actions(phrase: Sequence[str]) -> list[str]:
    *rest, last = phrase
    if last in _TIMES:
        return _TIMES[last] * _actions(rest)
    verb, *way = phrase
    move = [] if verb == 'turn' else [verb.upper()]
    if not way:
        return move
    turn = [_TURNS[last]]
    return 4 * (turn + move) if way[0] == 'around' else (len(way) * turn) + move
