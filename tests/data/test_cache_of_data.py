# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The cache of prepared data: a damaged file is noticed and made anew, and processes do not break each other."""

import fcntl
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from saccade.data import cache as cache_module
from saccade.data.cache import cached
from saccade.data.rows.pack import Packed
from saccade.data.text.stream import TextData
from saccade.data.tokenizer.bpe import BPE
from saccade.types import Part, UserError

TEXT = ''.join(f'the {number} words of a small text, and {number * 7 % 13} others. ' for number in range(300))


@pytest.fixture
def data(tmp_path):
    (tmp_path / 'small.txt').write_text(TEXT)
    return TextData(
        tokenizer=Part(BPE).replace(vocabulary=280),
        context_length=8,
        pack=Part(Packed),
        path=str(tmp_path / 'small.txt'),
    )


def content(prepared):
    rows = {
        name: [split.rows[row]['tokens'] for row in range(len(split.rows))] for name, split in prepared.splits.items()
    }
    return prepared.processor.digest, {name: np.stack(row) for name, row in rows.items()}


def assert_same(found, wanted):
    assert found[0] == wanted[0]
    for name, tokens in wanted[1].items():
        np.testing.assert_array_equal(found[1][name], tokens)


def flip(path):
    held = bytearray(path.read_bytes())
    held[len(held) // 2] ^= 1
    path.write_bytes(held)


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def swap(path):
    other = next(file for file in path.parent.iterdir() if file.is_file() and file != path)
    held = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(held)


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


DAMAGES = {
    'flipped': flip,
    'cut': halve,
    'emptied': lambda path: path.write_bytes(b''),
    'deleted': lambda path: path.unlink(),
    'renamed': lambda path: path.rename(path.with_name(f'x{path.name}')),
    'replaced by a folder': replace_by_folder,
    'beside another': lambda path: path.with_name('other.npy').write_bytes(b'0'),
    'nested': lambda path: path.write_text('[' * 100_000),
}


def files_of(cache):
    return sorted(path for path in cache.rglob('*') if path.is_file() and path.name != '.lock')


@pytest.mark.parametrize('damage', DAMAGES)
@pytest.mark.parametrize('name', ['tokens.npy', 'train/index.npy', 'digests.json'])
def test_a_damaged_folder_is_made_anew_in_one_line(tmp_path, caplog, damage, name):
    def make(new):
        (new / 'train').mkdir()
        for name in ('tokens.npy', 'train/index.npy', 'train/segments.npy'):
            (new / name).write_text(f'the content of {name}')

    folder = cached(tmp_path / 'folder', make)
    wanted = {path: path.read_text() for path in files_of(folder)}
    DAMAGES[damage](folder / name)
    assert {path: path.read_text() for path in files_of(cached(folder, make))} == wanted
    assert len(caplog.messages) == 1
    assert str(folder) in caplog.text
    assert 'it is rebuilt' in caplog.text
    assert cached(folder, make) == folder
    assert len(caplog.messages) == 1


@pytest.mark.long
@pytest.mark.parametrize('damage', DAMAGES)
def test_a_damaged_cache_gives_the_same_data(tmp_path, data, caplog, damage):
    cache, spare = tmp_path / 'cache', tmp_path / 'spare'
    wanted = content(data.prepare(cache))
    shutil.copytree(cache, spare)
    kinds = {path.relative_to(cache).parts[1:]: path for path in files_of(cache)}
    assert {path.name for path in kinds.values()} >= {'digests.json', 'tokens.npy', 'tokenizer.json'}
    for path in kinds.values():
        caplog.clear()
        DAMAGES[damage](path)
        assert_same(content(data.prepare(cache)), wanted)
        assert len(caplog.messages) == 1, (path, caplog.messages)
        assert 'it is rebuilt' in caplog.text
        assert files_of(cache) == [cache / file.relative_to(spare) for file in files_of(spare)]


def test_a_folder_replaced_by_a_file_is_made_anew(tmp_path):
    (tmp_path / 'a').write_text('a file')
    cached(tmp_path / 'a', lambda new: (new / 'made').write_text('anew'))
    assert (tmp_path / 'a' / 'made').read_text() == 'anew'


def test_a_cache_of_before_there_were_digests_is_made_anew(tmp_path, data, caplog):
    wanted = content(data.prepare(tmp_path / 'cache'))
    for path in (tmp_path / 'cache').rglob('digests.json'):
        path.unlink()
    assert_same(content(data.prepare(tmp_path / 'cache')), wanted)
    assert len(caplog.messages) == 2  # tokenizer and tokens


def test_what_cannot_be_made_anew_is_to_be_deleted(tmp_path, monkeypatch):
    make = lambda new: (new / 'a').write_text('a')  # noqa: E731
    folder = cached(tmp_path / 'folder', make)
    flip(folder / 'a')

    def refuse(*_, **__):
        raise PermissionError(13, 'Permission denied')

    monkeypatch.setattr(cache_module.os, 'rename', refuse)
    with pytest.raises(
        UserError, match=r'folder: a has changed since it was .*, and it cannot be rebuilt \(.*\): delete it'
    ):
        cached(folder, make)


def test_a_sound_cache_needs_no_writing(tmp_path, data, monkeypatch):
    wanted = content(data.prepare(tmp_path / 'cache'))

    def refuse(*_, **__):
        raise PermissionError(30, 'Read-only file system')

    for name in ('mkdir', 'rename', 'replace', 'unlink'):
        monkeypatch.setattr(os, name, refuse)
    assert_same(content(data.prepare(tmp_path / 'cache')), wanted)


def test_an_unwritable_cache_is_one_line(tmp_path, data):
    (tmp_path / 'cache').write_text('a file')
    with pytest.raises(UserError, match=r'cache failed: .*File exists.*SACCADE_CACHE names another folder') as refusal:
        data.prepare(tmp_path / 'cache')
    assert '\n' not in str(refusal.value)


def test_drafts_of_killed_processes_are_swept_and_others_are_not(tmp_path):
    for name in ('killed', 'working'):
        (tmp_path / f'.draft-folder-{name}').mkdir()
        (tmp_path / f'.draft-folder-{name}' / '.lock').touch()
    with (tmp_path / '.draft-folder-working' / '.lock').open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cached(tmp_path / 'folder', lambda new: (new / 'a').write_text('a'))
    assert [path.name for path in tmp_path.glob('.draft*')] == ['.draft-folder-working']


def test_threads_that_find_the_same_damage_at_once(tmp_path, data):
    wanted = content(data.prepare(tmp_path / 'cache'))
    for path in files_of(tmp_path / 'cache'):
        flip(path)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: content(data.prepare(tmp_path / 'cache')), range(4)))
    for found in results:
        assert_same(found, wanted)


AT_ONCE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from saccade.data.rows.pack import Packed
from saccade.data.text.stream import TextData
from saccade.data.tokenizer.bpe import BPE
from saccade.types import Part
text, cache = map(Path, sys.argv[1:])
data = TextData(tokenizer=Part(BPE).replace(vocabulary=280), context_length=8, pack=Part(Packed), path=str(text))
sys.stdin.readline()
rows = data.prepare(cache).splits['train'].rows
print([rows[row]['tokens'].tolist() for row in range(len(rows))])
"""


@pytest.mark.long
@pytest.mark.parametrize('damage', [None, flip, halve])
def test_processes_that_prepare_one_cache_at_once(tmp_path, data, damage):
    if damage:
        data.prepare(tmp_path / 'cache')
        for path in files_of(tmp_path / 'cache'):
            damage(path)
    command = [sys.executable, '-c', AT_ONCE, data.path, str(tmp_path / 'cache')]
    pipes = dict.fromkeys(('stdin', 'stdout', 'stderr'), subprocess.PIPE)
    started = [subprocess.Popen(command, text=True, **pipes) for _ in range(3)]
    printed = set()
    for process in started:
        said, errors = process.communicate('\n', timeout=240)
        assert process.returncode == 0, errors
        printed.add(said)
    _, rows = content(data.prepare(tmp_path / 'cache'))
    assert printed == {f'{rows["train"].tolist()}\n'}
