# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Papers of the parts in which variants differ: the list of a report, and a bibliography for LaTeX.

They are read from the docstrings of the package, which cite as: Su et al. 2021, "RoFormer: ...", equation 16, https://...
No part is imported; a part of one's own, outside of the package, is without papers.
"""

import ast
import functools
import re
import string
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import saccade
from saccade.analysis.report.compare import Comparison
from saccade.parts import uses

_BREAK = r'(?: |\n(?!\n))'  # between words of one paragraph
_NAME = r"[A-Z][\w'-]*"
_AUTHORS = rf'{_NAME}(?:(?:,{_BREAK}|{_BREAK}and{_BREAK}|{_BREAK}){_NAME})*(?:{_BREAK}et{_BREAK}al\.)?'
_YEAR = r'(?:19|20)\d\d'
_BETWEEN = rf'(?:(?!{_YEAR})[^"])*?'  # a section or an equation, and no other citation
_CITED = re.compile(rf'({_AUTHORS}),?{_BREAK}({_YEAR}),{_BREAK}"([^"]+)"{_BETWEEN}(https?://[^\s,;)]+)')
_ARXIV = 'https://arxiv.org/abs/'


@dataclass(frozen=True)
class Paper:
    """Paper. Attributes: authors, as cited; year; title; url."""

    authors: str
    year: str
    title: str
    url: str

    @property
    def words(self) -> str:
        """The citation as text."""
        return f'{self.authors} {self.year}, "{self.title}", {self.url}'

    @property
    def key(self) -> str:
        """Key of its BibTeX entry, such as su2021roformer, which another paper may share."""
        first, word = (re.findall(r'[a-z0-9]+', text.lower()) for text in (self.authors, self.title))
        return f'{first[0]}{self.year}{word[0]}'

    def bibtex(self, letter: str = '') -> str:
        """Return its entry for BibTeX. Args: letter, after its key."""
        authors = re.sub(r', | and ', ' and ', self.authors.replace(' et al.', ' and others'))
        fields = {'author': authors, 'title': f'{{{self.title}}}', 'year': self.year, 'url': self.url}
        if self.url.startswith(_ARXIV):
            fields |= {'eprint': self.url.removeprefix(_ARXIV), 'archiveprefix': 'arXiv'}
        lines = [f'  {name} = {{{value}}},' for name, value in fields.items()]
        return '\n'.join([f'@misc{{{self.key}{letter},', *lines, '}'])


@functools.cache
def papers(use: str) -> tuple[Paper, ...]:
    """Return the papers that the docstring of a part's file cites.

    Args:
        use: import path of the part, such as 'position.rotary:Rotary'.
    """
    module = use.partition(':')[0].removeprefix('saccade.')
    file = Path(saccade.__file__).parent.joinpath(*module.split('.')).with_suffix('.py')
    if not file.is_file():
        return ()
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding='utf-8'))) or ''
    found = ((' '.join(text.split()) for text in each) for each in _CITED.findall(docstring))
    return tuple(Paper(authors, year, title, url.rstrip('.:')) for authors, year, title, url in found)


def cited(comparison: Comparison) -> dict[str, tuple[Paper, ...]]:
    """Return the parts that some variants lack and that cite papers, with these."""
    trials = [trial for standing in comparison.standings for trial in standing.trials if trial.config]
    parts = [{use for _, use in uses(trial.config)} for trial in trials]
    differ = sorted(set().union(*parts) - set.intersection(*parts)) if parts else []
    return {use: papers(use) for use in differ if papers(use)}


def bibliography(listed: Iterable[Paper]) -> str:
    """Return a bibliography for BibTeX with each paper once, the second under a key with the letter b, and so on."""
    alike: dict[str, list[Paper]] = {}
    for paper in {paper.url: paper for paper in listed}.values():
        alike.setdefault(paper.key, []).append(paper)
    letters = ('', *string.ascii_lowercase[1:])
    entries = [paper.bibtex(letters[place]) for _, found in sorted(alike.items()) for place, paper in enumerate(found)]
    return ''.join(f'{entry}\n\n' for entry in entries)
