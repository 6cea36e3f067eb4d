# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pairs of texts from docstrings of installed packages, as a TFDS dataset: the first sentence, and the rest.

A record has the qualified `name` of the documented object, the first sentence as `summary`, and the rest as `body`. The
three have a common meaning, so they are training data for sentence vectors and search. All docstrings of a module are
in one split. Nothing is downloaded, and sources are parsed, never imported: see `pydocs`.
"""

import re
from collections.abc import Iterator
from typing import Any

import tensorflow_datasets as tfds

from saccade.data.corpus.document import draw
from saccade.data.corpus.pydocs import VALIDATION, docstrings, installed_modules
from saccade.progress import counted

_SHORTEST_SUMMARY, _SHORTEST_BODY, _LONGEST_BODY = 15, 40, 600  # characters; shorter ones are signatures and remarks
_END_OF_SENTENCE = re.compile(r'(?<=[.!?])\s+(?=[A-Z`])|\n\s*\n')
_FIELDS = ('name', 'summary', 'body')


class Docstrings(tfds.core.GeneratorBasedBuilder):
    """Names, first sentences and remaining texts of docstrings."""

    # Increase it when the records change: prepared data are stored under it.
    VERSION = tfds.core.Version('1.0.0')
    name = 'docstrings'

    def _info(self) -> tfds.core.DatasetInfo:
        features = tfds.features.FeaturesDict(dict.fromkeys(_FIELDS, tfds.features.Text()))
        return tfds.core.DatasetInfo(builder=self, description=__doc__, features=features, disable_shuffling=True)

    def _split_generators(self, dl_manager: Any) -> dict[str, Iterator[tuple[int, dict[str, str]]]]:
        splits: dict[str, list[dict[str, str]]] = {'train': [], 'validation': []}
        for module, record in records():
            splits['validation' if draw(module) < VALIDATION else 'train'].append(record)
        return {split: self._generate_examples(found) for split, found in splits.items()}

    def _generate_examples(self, found: list[dict[str, str]]) -> Iterator[tuple[int, dict[str, str]]]:
        yield from enumerate(found)


def records() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield module name and record; no two records have the same summary or the same body."""
    modules, seen = installed_modules(), set()
    for module, path in counted(modules, 'reading docstrings', len(modules), 'modules'):
        for name, text in docstrings(path.read_bytes(), module):
            summary, body = divided(text)
            if len(summary) >= _SHORTEST_SUMMARY and len(body) >= _SHORTEST_BODY and seen.isdisjoint((summary, body)):
                seen |= {summary, body}
                yield module, dict(zip(_FIELDS, (name, summary, body), strict=True))


def divided(text: str) -> tuple[str, str]:
    """Return the first sentence of a docstring and the rest, each on one line."""
    summary, *rest = _END_OF_SENTENCE.split(text.strip(), maxsplit=1)
    return ' '.join(summary.split()), ' '.join(''.join(rest).split())[:_LONGEST_BODY].rstrip()
