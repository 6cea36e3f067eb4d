# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Splits of a folder by the names of its files, and sets of names that are refused."""

from pathlib import Path

import pytest

from saccade.data.corpus.named_splits import named_splits
from saccade.types import UserError

FOLDER = Path('/texts')
ENDINGS = ('.jsonl', '.txt')


def splits(names):
    found = named_splits(FOLDER, [FOLDER / name for name in names.split()], ENDINGS)
    return {split: ' '.join(file.relative_to(FOLDER).as_posix() for file in files) for split, files in found.items()}


@pytest.mark.parametrize('test', ['test.txt', 'TEST.txt.gz', 'test-00000-of-00001.jsonl', 'test_00.txt', 'test.0.txt'])
@pytest.mark.parametrize('below', ['', 'data/', 'a/b/'])
def test_a_test_file_is_told_by_its_name_in_any_one_folder(test, below):
    found = splits(f'README.md {below}train.txt {below}{test}')
    assert found == {'train': f'{below}train.txt', 'validation': '', 'test': below + test}


@pytest.mark.parametrize('name', ['validation', 'valid', 'val', 'dev', 'Dev'])
def test_validation_has_four_names(name):
    assert splits(f'train.txt {name}.txt more.txt')['validation'] == f'{name}.txt'
    assert splits(f'train/a.txt {name}/b.txt more.txt')['validation'] == f'{name}/b.txt'


@pytest.mark.parametrize(
    'names',
    [
        'wiki.train.txt wiki.valid.txt wiki.test.txt',
        'train-v1.1.jsonl dev-v1.1.jsonl test-v1.1.jsonl',
        'en_ewt-ud-train.txt en_ewt-ud-dev.txt en_ewt-ud-test.txt',
        'data/a.train-00000-of-00001.b.jsonl data/a.val.b.jsonl data/a.test-00000-of-00001.b.jsonl',
    ],
)
def test_files_of_a_set_have_its_name_before_or_after_that_of_the_split(names):
    assert splits(f'README.md {names} more.txt other.test.txt') == dict(
        zip(('train', 'validation', 'test'), names.split(), strict=True)
    )


def test_a_folder_may_be_a_split():
    files = 'data/test/train.txt data/train/a/b.txt data/train/test.txt'
    assert splits(files) == {
        'train': 'data/train/a/b.txt data/train/test.txt',
        'validation': '',
        'test': files.split()[0],
    }


def test_splits_of_the_folder_itself_are_before_those_below_it():
    assert splits('old/train.txt old/dev.txt train.txt dev.txt')['train'] == 'train.txt'


@pytest.mark.parametrize(
    'names',
    [
        'a.txt b.txt',
        'train.txt',
        'train_0.jsonl train_1.jsonl',
        'tests.txt training.txt test.md',
        'setup.py requirements/dev.txt requirements/test.txt',
        'test/a.txt other/b.txt',
        'wiki.train.txt book.test.txt',
        'how_to_test.txt a.txt',
    ],
)
def test_other_files_are_not_split_by_their_names(names):
    assert splits(names) == {}


@pytest.mark.parametrize(
    'names', ['a.txt test.txt', 'setup.py test.txt', 'train.txt heldout.txt', 'dev.txt test.txt', 'data/test.txt a.txt']
)
def test_a_set_of_names_that_is_not_whole_is_refused(names):
    with pytest.raises(UserError, match=r'^/texts: .*named after a split, and there is not both a train\.\* and'):
        splits(names)


@pytest.mark.parametrize(
    ('names', 'sets'),
    [
        ('de/train.txt de/test.txt en/train.txt en/test.txt', 'de, en'),
        ('ptb.train.txt ptb.test.txt ptb.char.train.txt ptb.char.test.txt', r'ptb\.\*, ptb\.char\.\*'),
    ],
)
def test_several_sets_of_splits_are_refused(names, sets):
    with pytest.raises(UserError, match=f'several sets of files are named after splits: {sets}; give the path of a'):
        splits(names)
