# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Papers of compared parts: read from docstrings as they are cited, listed by a report, and written for BibTeX."""

import pytest
from report_study import config, records, write_run, write_study

from saccade.analysis.catalogue.catalogue import KINDS, Catalogue
from saccade.analysis.report.papers import Paper, bibliography, papers
from saccade.analysis.report.write import report

ROFORMER = Paper(
    'Su et al.',
    '2021',
    'RoFormer: Enhanced Transformer with Rotary Position Embedding',
    'https://arxiv.org/abs/2104.09864',
)
WITHOUT = {  # parts of others, or none that a paper introduced by this name
    'attention.auto:Auto',
    'attention.splash:Splash',
    'embed.padding_token:PaddingToken',
    'recurrent.mixer.recurrent:Recurrent',
}


@pytest.mark.parametrize(
    ('use', 'found'),
    [
        ('position.rotary:Rotary', (ROFORMER,)),
        ('saccade.position.rotary:Rotary', (ROFORMER,)),
        (
            'attention.blockwise:Blockwise',  # an equation ends before the authors
            (
                Paper(
                    'Dao et al.',
                    '2022',
                    'FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness',
                    'https://arxiv.org/abs/2205.14135',
                ),
            ),
        ),
        ('jax.nn:gelu', ()),
        ('my_lab.attention:Mine', ()),
        ('..secret:Part', ()),
    ],
)
def test_papers_are_those_that_the_docstring_cites(use, found):
    assert papers(use) == found


def test_almost_every_part_has_a_paper():
    ours = Catalogue.ours()
    named = {spec['use'] for kind in KINDS for spec in ours.specs(kind).values()}
    assert {use for use in named if not papers(use) and not use.startswith('ops.')} == WITHOUT


def test_an_entry_for_bibtex():
    assert ROFORMER.bibtex() == (
        '@misc{su2021roformer,\n'
        '  author = {Su and others},\n'
        '  title = {{RoFormer: Enhanced Transformer with Rotary Position Embedding}},\n'
        '  year = {2021},\n'
        '  url = {https://arxiv.org/abs/2104.09864},\n'
        '  eprint = {2104.09864},\n'
        '  archiveprefix = {arXiv},\n'
        '}'
    )
    three = Paper('See, Liu and Manning', '2017', 'Get To The Point', 'https://aclanthology.org/P17-1099')
    assert '  author = {See and Liu and Manning},\n' in three.bibtex()
    assert 'eprint' not in three.bibtex()


def test_papers_with_one_key_have_entries_of_their_own():
    again = Paper('Su', '2021', 'RoFormer, in another place', 'https://example.org/roformer')
    found = bibliography([ROFORMER, again, ROFORMER])
    assert [line for line in found.splitlines() if line.startswith('@')] == [
        '@misc{su2021roformer,',
        '@misc{su2021roformerb,',
    ]


@pytest.mark.long
def test_a_report_cites_the_parts_that_differ(tmp_path):
    for number, use in enumerate(('position.rotary:Rotary', 'position.alibi:ALiBi', 'my_lab.position:Mine')):
        settings = config()
        settings['model']['block']['mixer']['position'] = {'use': use}
        write_run(tmp_path / f'run{number}', settings, records(number, 1))
    files = {file.name: file.read_text() for file in report(tmp_path).files}
    assert [line for line in files['references.bib'].splitlines() if line.startswith('@')] == [
        '@misc{press2022train,',
        '@misc{su2021roformer,',
    ]
    listed = files['report.md'].partition('## Papers of the compared parts\n\n')[2].splitlines()[:2]
    assert [line.partition(' ')[2].partition('2')[0] for line in listed] == [
        'position.alibi:ALiBi: Press et al. ',
        'position.rotary:Rotary: Su et al. ',
    ]
    assert (
        '<li><code>position.rotary:Rotary</code>; Su et al. 2021, <a href="https://arxiv.org/abs/2104'
        in files['index.html']
    )


@pytest.mark.long
def test_a_report_on_one_part_cites_none(tmp_path):
    files = {file.name: file.read_text() for file in report(write_study(tmp_path / 'heads')).files}
    assert 'references.bib' not in files
    assert 'Papers' not in files['index.html'] + files['report.md']
