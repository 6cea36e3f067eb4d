# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Paths that a user gives, and files that are read whole."""

import os
import re
from pathlib import Path

import pytest

from saccade.data.audio.folder import SoundFolder
from saccade.data.corpus.corpus import open_corpus
from saccade.data.corpus.records import open_records
from saccade.data.tokenizer.file import TokenizerFile, open_tokenizer
from saccade.hub.load import spec_of
from saccade.hub.tensors import read_json
from saccade.paths import expanded, read_regular, read_text
from saccade.train.log import log
from saccade.train.workdir import Workdir
from saccade.types import UserError

REPOSITORY = Path(__file__).parents[1]
NOBODY = '~nobody-of-this-name/x'


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to('/dev/zero')


def test_a_home_folder(monkeypatch):
    monkeypatch.setenv('HOME', '/home/me')
    assert [expanded(path) for path in ('~', '~/a', 'a/~')] == [Path('/home/me'), Path('/home/me/a'), Path('a/~')]


def test_the_home_folder_of_nobody_is_one_line():
    with pytest.raises(UserError, match=f'^{NOBODY}: there is no home folder ~nobody-of-this-name; '):
        expanded(NOBODY)


def test_a_path_that_cannot_be_followed_is_one_line(tmp_path):
    loop = tmp_path / 'loop'
    loop.symlink_to(loop)
    for path, words in {
        tmp_path / ('x' * 300): 'not a possible path: File name too long',
        loop: 'not a possible path: Too many levels of symbolic links',
        loop / 'x': 'not a possible path: Too many levels of symbolic links',
        tmp_path / 'a\0b': 'a path cannot hold a null character',
    }.items():
        with pytest.raises(UserError, match=f'^{re.escape(str(path))}: {words}$'):
            expanded(path)


def test_a_path_at_which_nothing_is_is_returned(tmp_path):
    (tmp_path / 'file').touch()
    (tmp_path / 'link').symlink_to('nowhere')
    for name in ('new', 'new/below', 'file/below', 'link'):
        assert expanded(tmp_path / name) == tmp_path / name


def test_one_function_expands_paths():
    files = [file for folder in ('src', 'launch') for file in (REPOSITORY / folder).rglob('*.py')]
    found = {file.name for file in files if re.search(r'expanduser\(', file.read_text())}
    assert found == {'paths.py'}


def byte_pairs(folder: Path) -> object:
    """Read the tokenizer of a vocab.json, with what may be missing next to it."""
    (folder / 'tokenizer_config.json').write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    for name in {'merges.txt', 'vocab.json'} - {*os.listdir(folder)}:
        (folder / name).write_text('')
    return open_tokenizer(folder / 'vocab.json')


@pytest.mark.parametrize('most', [3, 4])
def test_a_file_is_read_up_to_the_bound(tmp_path, most):
    (tmp_path / 'a').write_bytes(b'abc')
    (tmp_path / 'b').symlink_to('a')
    assert read_regular(tmp_path / 'b', most) == b'abc'
    assert read_text(tmp_path / 'a', most) == 'abc'
    with pytest.raises(OSError, match=r'it has more than 2 bytes'):
        read_regular(tmp_path / 'a', 2)


@pytest.mark.parametrize('make', [pipe, endless])
def test_a_pipe_and_a_device_are_not_read(tmp_path, make):
    make(tmp_path / 'a')
    with pytest.raises(OSError, match='it is not a regular file'):
        read_regular(tmp_path / 'a')


@pytest.mark.parametrize('make', [pipe, endless])
@pytest.mark.parametrize(
    ('name', 'read'),
    [
        ('config.json', lambda folder: Workdir(folder).read_config()),
        ('config.json', lambda folder: read_json(folder / 'config.json')),
        ('metrics.jsonl', lambda folder: log.read(folder / 'metrics.jsonl')),
        ('tokenizer.json', lambda folder: open_tokenizer(folder / 'tokenizer.json')),
        ('tokenizer.json', lambda folder: TokenizerFile(str(folder / 'tokenizer.json')).digest),
        ('vocab.txt', lambda folder: open_tokenizer(folder / 'vocab.txt')),
        ('vocab.json', byte_pairs),
        ('merges.txt', byte_pairs),
        ('tokenizer_config.json', lambda folder: open_tokenizer(folder / 'tokenizer.json')),
    ],
)
@pytest.mark.timeout(60)
def test_a_pipe_or_a_device_in_a_folder_is_one_line(tmp_path, name, read, make):
    make(tmp_path / name)
    with pytest.raises(UserError, match=rf'{name}.*it is not a regular file'):
        read(tmp_path)


@pytest.mark.parametrize(
    'use',
    [
        lambda cache: open_corpus(None, NOBODY, cache, 0.1),
        lambda cache: open_records(None, NOBODY, cache, 0.1, ('a',)),
        lambda cache: SoundFolder(context_length=4, classes=2, path=NOBODY)._labelled(cache),
        lambda cache: TokenizerFile(NOBODY).digest,
        lambda cache: spec_of(NOBODY),
    ],
)
def test_a_path_of_nobody_is_one_line(tmp_path, use):
    with pytest.raises(UserError, match=f'^{NOBODY}: there is no home folder'):
        use(tmp_path)
