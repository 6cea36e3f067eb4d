# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The embedded corpus: what is read from sources, what is left out, and that it is enough to learn from."""

import email
import sys
import tempfile
from pathlib import Path

import pytest

from saccade.data.corpus import pydocs
from saccade.data.corpus.corpus import open_corpus
from saccade.data.corpus.document import TextDocument
from saccade.data.corpus.pydocs import docstrings, documents, fingerprint, installed_modules, modules_below, topics

LONG = 'A sentence that is long enough to be kept, for it goes on and on about nothing at all. ' * 3
SOURCE = '''
"""The module."""
class First:
    """The first
       class.
    """
    def method(self):
        """A method."""
        def inner():
            """Inside."""
    field = """no docstring"""
if True:
    def second():
        'The second.'
else:
    async def third():
        r"""The third \\d."""
try:
    def fourth(): "The fourth."
except ValueError:
    def fifth(): "The fifth."
finally:
    def sixth(): "The sixth."
def silent():
    return """no docstring"""
def blank():
    """   """
'''


def _module(folder, name, text):
    path = folder / f'{name}.py'
    path.write_text(f'"""{text}"""\n')
    return name, path


@pytest.fixture
def one_package(monkeypatch, tmp_path):
    """Make the `email` package all that is installed."""
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    monkeypatch.setattr(pydocs, '_roots', lambda: [('email', Path(email.__file__).parent)])


def test_docstrings_come_in_source_order_under_qualified_names():
    assert list(docstrings(SOURCE.encode(), 'm')) == [
        ('m', 'The module.'),
        ('m.First', 'The first\nclass.'),
        ('m.First.method', 'A method.'),
        ('m.First.method.inner', 'Inside.'),
        ('m.second', 'The second.'),
        ('m.third', 'The third \\d.'),
        ('m.fourth', 'The fourth.'),
        ('m.fifth', 'The fifth.'),
        ('m.sixth', 'The sixth.'),
    ]


def test_sources_are_parsed_and_never_run():
    assert list(docstrings(b'"""Read."""\nraise SystemExit', 'm')) == [('m', 'Read.')]


@pytest.mark.parametrize(
    'source',
    [
        b'def broken(:',
        b'\0',
        b'"""\xff"""',
        b'x = ' + b'(' * 5000 + b')' * 5000,
        b'if a:pass\n' + b'elif a:pass\n' * 2000,
    ],
    ids=['syntax', 'zero', 'encoding', 'parentheses', 'branches'],
)
def test_sources_that_do_not_parse_have_no_docstrings(source):
    assert list(docstrings(source, 'm')) == []


def test_invalid_escapes_in_the_sources_of_others_do_not_warn():
    assert list(docstrings(b'"""Match \\d."""', 'm')) == [('m', 'Match \\d.')]


def test_text_can_always_be_kept_as_utf8():
    ((_, text),) = docstrings(b'"""Half a pair: \\ud800."""', 'm')
    assert text == 'Half a pair: ?.'


def test_tests_caches_and_installed_packages_are_left_out(tmp_path):
    kept = ['__init__.py', 'unittest/case.py', 'doctest.py', 'latest.py', 'sub/__init__.py']
    left = ['test/a.py', 'tests/a.py', 'sub/_testing/a.py', 'test_a.py', 'a_test.py', 'internal_test_util/a.py']
    left += ['__pycache__/a.py', 'site-packages/a.py', '_sysconfigdata__linux_.py', 'pydoc_data/topics.py', 'a.txt']
    for name in kept + left:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    names = [name for name, _ in modules_below(tmp_path, 'package')]
    assert names == ['package', 'package.doctest', 'package.latest', 'package.sub', 'package.unittest.case']


def test_a_module_is_one_document_with_its_names(tmp_path):
    path = tmp_path / 'm.py'
    path.write_text(f'"""{LONG}"""\ndef f():\n    "Short."\n')
    assert list(documents([('m', path)])) == [TextDocument('m', f'm\n{LONG.strip()}\n\nm.f\nShort.\n')]


def test_a_docstring_met_twice_belongs_to_the_first(tmp_path):
    modules = [_module(tmp_path, name, LONG) for name in 'ab']
    assert [document.id for document in documents(modules)] == ['a']


def test_tiny_documents_are_dropped(tmp_path):
    assert list(documents([_module(tmp_path, 'm', 'Tiny.')])) == []


def test_topics_are_those_of_help():
    found = {document.id: document.text for document in topics()}
    assert found['topics/assert'].startswith('The "assert" statement\n')
    assert list(found) == sorted(found)


def test_python_without_its_documentation_still_has_docstrings(monkeypatch):
    monkeypatch.setitem(sys.modules, 'pydoc_data.topics', None)
    assert list(topics()) == []


@pytest.mark.long
def test_modules_are_of_the_standard_library_and_of_dependencies():
    names = [name for name, _ in installed_modules()]
    assert {'argparse', 'email.message', 'jax', 'numpy', 'orbax.checkpoint.args'} <= set(names)
    assert len(names) == len(set(names))
    assert not {'pytest', '_pytest', 'torch', 'test.support'} & set(names)


def test_fingerprint_changes_with_the_sources(tmp_path):
    modules = [_module(tmp_path, name, LONG) for name in 'ab']
    first = fingerprint(modules)
    assert fingerprint(modules) == first
    assert fingerprint(modules[:1]) != first
    _module(tmp_path, 'b', LONG + 'more')
    assert fingerprint(modules) != first


@pytest.mark.long
@pytest.mark.usefixtures('one_package')
def test_corpus_holds_topics_and_modules_in_order(tmp_path):
    corpus = open_corpus('pydocs', None, tmp_path)
    ids = {split: [document.id for document in documents] for split, documents in corpus.splits.items()}
    order = [document.id for document in [*topics(), *documents(installed_modules())]]
    assert {'topics/assert', 'email.message'} <= {*ids['train'], *ids['validation']}
    assert ids['train'] == [id for id in order if id not in ids['validation']]
    assert ids['validation'] == [id for id in order if id not in ids['train']]


@pytest.mark.long
@pytest.mark.usefixtures('one_package')
def test_validation_documents_are_the_same_whatever_is_installed(tmp_path, monkeypatch):
    splits = open_corpus('pydocs', None, tmp_path).splits
    monkeypatch.setattr(pydocs, '_roots', list)
    fewer = open_corpus('pydocs', None, tmp_path).splits
    ids = {document.id for document in splits['validation'] if document.id.startswith('topics/')}
    assert {document.id for document in fewer['validation']} == ids
    assert 0.01 < len(fewer['validation']) / len(fewer['train']) < 0.15


@pytest.mark.long
def test_there_is_enough_to_learn_from(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    splits = open_corpus('pydocs', None, tmp_path).splits
    sizes = {split: sum(len(document.text.encode()) for document in texts) for split, texts in splits.items()}
    assert sizes['train'] > 3_000_000
    assert sizes['validation'] > 100_000
