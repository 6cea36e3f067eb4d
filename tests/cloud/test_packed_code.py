# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What is shipped: the working tree as it stands, without what git ignores."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from saccade.cloud.pack import files_of, pack


@pytest.fixture
def tree(code) -> Path:
    """A folder under git: with a file committed and changed, one that is new, one deleted, and one ignored."""

    def git(*arguments: str) -> None:
        subprocess.run(['git', '-C', str(code), *arguments], check=True, capture_output=True)

    (code / '.gitignore').write_text('runs/\n')
    (code / 'deleted.py').touch()
    (code / 'changed.py').write_text('old')
    git('init')
    git('add', '--all')
    (code / 'deleted.py').unlink()
    (code / 'changed.py').write_text('new')
    (code / 'in two words.py').touch()
    (code / 'runs').mkdir()
    (code / 'runs/a').touch()
    return code


def test_the_working_tree_is_shipped_and_not_what_git_ignores(tree, tmp_path):
    pack(tree, tmp_path / 'new/code.tar.gz')
    with tarfile.open(tmp_path / 'new/code.tar.gz') as archive:
        assert set(archive.getnames()) == {
            '.gitignore',
            'changed.py',
            'experiments/tiny.py',
            'in two words.py',
            'launch/train.py',
            'pyproject.toml',
            'src/saccade/cloud/worker.sh',
        }
        assert archive.extractfile('changed.py').read() == b'new'


def test_without_git_what_a_run_needs_is_shipped(code, monkeypatch):
    (code / 'runs').mkdir()
    (code / 'runs/a').touch()
    (code / 'src/__pycache__').mkdir()
    (code / 'src/__pycache__/a.pyc').touch()
    monkeypatch.setenv('PATH', '')
    assert [path.as_posix() for path in files_of(code)] == [
        'experiments/tiny.py',
        'launch/train.py',
        'pyproject.toml',
        'src/saccade/cloud/worker.sh',
    ]


def test_what_cannot_be_written_is_one_line(code, tmp_path):
    (tmp_path / 'file').touch()
    command = [sys.executable, '-m', 'saccade.cloud.pack', str(code), str(tmp_path / 'file/code.tar.gz')]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith('error: ')
    assert done.stderr.count('\n') == 1
