# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Embedded questions about generated facts, as a TFDS dataset: nothing is downloaded, and all answers are known.

A context states the same kinds of facts about several people, in random order. A model must find the sentence with both
the person and the attribute of the question, among others with either. No context is in both splits.
"""

import random
from collections.abc import Iterator
from typing import Any

import tensorflow_datasets as tfds

from saccade.data.corpus.question import features

CONTEXTS = {'train': 1500, 'validation': 50}
SHAPES = (5, 1), (3, 2), (2, 3), (3, 3)  # people in a context, and attributes of each
QUESTIONS = 5  # questions per context

_NAMES = 'Ada', 'Boris', 'Clara', 'Dmitri', 'Edith', 'Farid', 'Greta', 'Hugo'
_VALUES = {
    'city': ('Hadley', 'Norwick', 'Orford', 'Selby', 'Tarn', 'Ulmsted'),
    'colour': ('red', 'green', 'violet', 'orange', 'silver', 'brown'),
    'metal': ('iron', 'copper', 'tin', 'zinc', 'nickel', 'bronze'),
    'month': ('May', 'June', 'March', 'August', 'January', 'October'),
}
_FIRST = {
    'city': ('New', 'Old', 'Port'),
    'colour': ('pale', 'dark', 'deep'),
    'metal': ('pure', 'cold', 'raw'),
    'month': ('early', 'mid', 'late'),
}
_STATEMENTS = ('The {thing} of {name} is {value}.', 'As {thing}, {name} has {value}.')
_QUESTIONS = ('What is the {thing} of {name}?', 'Name the {thing} of {name}.')


class Facts(tfds.core.GeneratorBasedBuilder):
    """Questions about people's attributes, with their answers."""

    # Increase it when the generated text changes: prepared data are stored under it.
    VERSION = tfds.core.Version('1.0.0')
    name = 'facts'

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(builder=self, description=__doc__, features=features(), disable_shuffling=True)

    def _split_generators(self, dl_manager: Any) -> dict[str, Iterator[tuple[int, dict[str, Any]]]]:
        return {split: self._generate_examples(split) for split in CONTEXTS}

    def _generate_examples(self, split: str) -> Iterator[tuple[int, dict[str, Any]]]:
        yield from enumerate(examples(split))


def examples(split: str) -> Iterator[dict[str, Any]]:
    """Generate the questions of a split; they are deterministic."""
    generator = random.Random(split)
    for number in range(CONTEXTS[split]):
        yield from _about(f'{split} {number}', generator)


def _about(title: str, generator: random.Random) -> Iterator[dict[str, Any]]:
    """Generate a context, and questions about it."""
    people, shared = generator.choice(SHAPES)
    names, things = generator.sample(_NAMES, people), generator.sample(sorted(_VALUES), shared)
    # A value has one or two words, so its end must be found too. No two people have the same value.
    facts = [
        (name, thing, generator.choice((value, f'{generator.choice(_FIRST[thing])} {value}')))
        for thing in things
        for name, value in zip(names, generator.sample(_VALUES[thing], len(names)), strict=True)
    ]
    generator.shuffle(facts)
    context, starts = '', {}
    for name, thing, value in facts:
        before, _, after = generator.choice(_STATEMENTS).format(thing=thing, name=name, value='\n').partition('\n')
        starts[name, thing] = len(context) + len(before)
        context += f'{before}{value}{after} '
    for number, (name, thing, value) in enumerate(generator.sample(facts, QUESTIONS)):
        yield {
            'id': f'{title}/{number}',
            'title': title,
            'question': generator.choice(_QUESTIONS).format(thing=thing, name=name),
            'context': context.rstrip(),
            'answers': {'text': [value], 'answer_start': [starts[name, thing]]},
        }
