# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What could not be written after the work is refused before it."""

import os
import re

import pytest

from saccade.train.process.output import require_file, require_folder
from saccade.types import UserError

LONG = 300 * 'x'


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The working directory, with a file and a folder in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'file').write_text('kept')
    (tmp_path / 'folder').mkdir()
    return tmp_path


@pytest.mark.parametrize('path', ['a.png', 'file', 'folder/a.png', './a', '-x', 'x [red] $(y)'])
def test_a_file_that_can_be_written_is_taken_and_nothing_is_left(place, path):
    require_file('out', path)
    require_file('out', str(place / path))
    assert sorted(os.listdir(place)) == ['file', 'folder']
    assert (place / 'file').read_text() == 'kept'


@pytest.mark.parametrize('path', ['a', 'a/b/c', 'folder', 'folder/a', '.', '-x'])
def test_a_folder_that_can_be_made_is_taken_and_nothing_is_left(place, path):
    require_folder('out', path)
    require_folder('out', str(place / path))
    assert sorted(os.listdir(place)) == ['file', 'folder']


@pytest.mark.parametrize(
    ('path', 'words'),
    [
        ('/nonexistent/x.png', 'there is no folder /nonexistent; create it first'),
        ('folder', 'it is a folder; name a file'),
        ('file/x', 'there is no folder file'),
        ('/proc/x', 'it cannot be written to: '),
        (LONG, 'not a possible path: File name too long'),
        ('~nobody-of-this-name/x', 'there is no home folder ~nobody-of-this-name; '),
        ('a\0b', 'a path cannot hold a null character'),
    ],
)
def test_a_file_that_cannot_be_written_is_refused(place, path, words):
    with pytest.raises(UserError, match=f'^--out={re.escape(path)}: {re.escape(words)}'):
        require_file('out', path)


@pytest.mark.parametrize(
    ('path', 'words'),
    [
        ('file', 'is a file; name a folder'),
        ('file/x', 'file is a file; name a folder'),
        ('/proc/x', 'it cannot be written to: '),
        (f'a/{LONG}', 'it cannot be written to: File name too long'),
        ('a\0b', 'a path cannot hold a null character'),
        ('~nobody-of-this-name/x', 'there is no home folder ~nobody-of-this-name; '),
    ],
)
def test_a_folder_that_cannot_be_made_is_refused(place, path, words):
    with pytest.raises(UserError, match=f'^--out={re.escape(path)}: .*{re.escape(words)}'):
        require_folder('out', path)
