# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The user's own text: which documents, in which split, and what is refused."""

import gzip
import logging
import os
from pathlib import Path

import pytest

from saccade.data.corpus.text_files import fingerprint, plan_documents
from saccade.types import UserError


def _write(folder, **texts):
    for name, text in texts.items():
        path = folder / name.replace('__', '/').replace('_', '.')
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def _texts(plan):
    return {split: [piece.text for piece in pieces] for split, pieces in plan.items()}


def _ids(plan):
    return {split: [piece.id for piece in pieces] for split, pieces in plan.items()}


def _many(folder, count=40):
    for number in range(count):
        _write(folder, **{f'{number:02}_txt': f'text {number}'})
    return folder


def test_a_file_is_cut_by_characters_and_not_by_bytes(tmp_path):
    text = 'é' * 7 + 'abc'
    (tmp_path / 'a.txt').write_text(text, encoding='utf-8')
    assert _texts(plan_documents(tmp_path / 'a.txt', 0.3)) == {'train': [text[:7]], 'validation': [text[7:]]}


def test_a_file_is_cut_at_the_integer_part_of_the_training_characters(tmp_path):
    (tmp_path / 'a.txt').write_text('x' * 1_115_394)
    plan = plan_documents(tmp_path / 'a.txt', 0.1)
    assert [len(text) for (text,) in _texts(plan).values()] == [1_003_854, 111_540]


@pytest.mark.parametrize(
    ('raw', 'text'),
    [(b'\xef\xbb\xbfabcd', 'abcd'), (b'a\r\nb\rc\n', 'a\nb\rc\n'), (b'a\rb\rc', 'a\nb\nc')],
    ids=['byte order mark', 'line ends', 'line ends of Mac OS 9'],
)
def test_marks_that_are_not_text_are_taken_off(tmp_path, raw, text):
    (tmp_path / 'a.txt').write_bytes(raw)
    (train,), (validation,) = _texts(plan_documents(tmp_path / 'a.txt', 0.4)).values()
    assert train + validation == text


def test_gzipped_text_reads_as_plain_text(tmp_path):
    (tmp_path / 'a.txt').write_text('one two three')
    (tmp_path / 'a.txt.gz').write_bytes(gzip.compress(b'one two three'))
    plain, packed = (_texts(plan_documents(tmp_path / name, 0.5)) for name in ('a.txt', 'a.txt.gz'))
    assert packed == plain


def test_files_of_a_folder_are_documents_in_order_of_their_paths(tmp_path):
    _write(tmp_path, b_txt='b', a__z_md='z', a__b__c_py='c', c_txt='c')
    ids = _ids(plan_documents(tmp_path, 0.5))
    assert sorted(ids['train'] + ids['validation']) == ['a/b/c.py', 'a/z.md', 'b.txt', 'c.txt']
    assert all(split == sorted(split) for split in ids.values())


def test_documents_of_a_folder_keep_their_split_when_others_come(tmp_path):
    before = _ids(plan_documents(_many(tmp_path), 0.3))
    _write(tmp_path, new_txt='new', aa_txt='another')
    after = _ids(plan_documents(tmp_path, 0.3))
    assert {split: [id for id in ids if id[0].isdigit()] for split, ids in after.items()} == before


def test_split_of_a_folder_is_the_same_on_every_machine(tmp_path):
    assert _ids(plan_documents(_many(tmp_path, 12), 0.3))['validation'] == ['05.txt', '06.txt', '08.txt']


@pytest.mark.parametrize('validation', [1e-9, 1 - 1e-9])
def test_a_small_folder_leaves_no_split_empty(tmp_path, validation):
    plan = plan_documents(_write(tmp_path, a_txt='a', b_txt='b'), validation)
    assert sorted(map(len, plan.values())) == [1, 1]


@pytest.mark.parametrize('ending', ['raw', 'tokens'])
def test_wikitext_has_splits_by_the_names_of_its_files(tmp_path, ending):
    _write(tmp_path, **{f'wiki_{split}_{ending}': split for split in ('train', 'valid', 'test')})
    assert _texts(plan_documents(tmp_path, 0.5)) == {'train': ['train'], 'validation': ['valid'], 'test': ['test']}


@pytest.mark.parametrize('name', ['validation_txt', 'valid_txt', 'val_txt', 'Val_txt_gz'])
def test_files_named_after_the_splits_are_the_splits(tmp_path, caplog, name):
    text = gzip.compress(b'to check') if name.endswith('gz') else 'to check'
    _write(tmp_path, train_txt='to learn', tests_txt='left', notes__train_txt='out', **{name: text})
    splits = {'train': ['to learn'], 'validation': ['to check']}
    assert _texts(plan_documents(tmp_path, 0.1)) == splits
    assert '2 other files are skipped' in caplog.text
    before = fingerprint(plan_documents(tmp_path, 0.1))
    _write(tmp_path, test_txt='')
    assert fingerprint(plan_documents(tmp_path, 0.1)) == before
    _write(tmp_path, test_txt='to report')
    assert _texts(plan_documents(tmp_path, 0.1)) == splits | {'test': ['to report']}


def test_validation_is_held_out_from_the_training_files_if_only_test_is_named(tmp_path):
    _write(tmp_path, train_txt='0123456789', test_txt='to report')
    assert _texts(plan_documents(tmp_path, 0.2)) == {'train': ['01234567'], 'validation': ['89'], 'test': ['to report']}
    (tmp_path / 'train.txt').unlink()
    for number in range(4):
        (tmp_path / f'train_{number}.txt').write_text(f'part {number}')
    ids = _ids(plan_documents(tmp_path, 0.2))
    assert sorted(ids['train'] + ids['validation']) == [f'train_{number}.txt' for number in range(4)]
    assert ids['test'] == ['test.txt']


def test_hidden_binary_and_empty_files_are_skipped_and_counted(tmp_path, caplog):
    _write(tmp_path, a_txt='a', b_txt='b', picture_png=b'\x89PNG\0\0', empty_txt='', blank_txt=' \n', _git__x='x')
    (tmp_path / '.hidden.txt').write_text('hidden')
    os.mkfifo(tmp_path / 'pipe')
    with caplog.at_level(logging.WARNING):
        ids = _ids(plan_documents(tmp_path, 0.5))
    assert sorted(ids['train'] + ids['validation']) == ['a.txt', 'b.txt']
    assert 'skipped 2 hidden files or folders' in caplog.text
    assert '1 binary' in caplog.text
    assert '2 empty' in caplog.text


LEFTOVERS = (
    'notes.txt~', '#notes.txt#', '.#notes.txt', '.notes.txt.swp', '~$notes.docx', '._notes.txt', '.DS_Store',
    'Thumbs.db', 'desktop.ini', '.git/HEAD', '.ipynb_checkpoints/notes-checkpoint.txt', '__MACOSX/notes.txt',
)  # fmt: skip


@pytest.mark.parametrize('name', LEFTOVERS)
def test_what_editors_and_systems_leave_behind_is_no_document(tmp_path, caplog, name):
    _write(tmp_path, a_txt='a', b_txt='b')
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text('left behind')
    ids = _ids(plan_documents(tmp_path, 0.5))
    assert sorted(ids['train'] + ids['validation']) == ['a.txt', 'b.txt']
    assert 'skipped 1 hidden files or folders' in caplog.text


def test_linked_folders_are_read_once_and_a_circle_ends(tmp_path):
    _write(tmp_path / 'elsewhere', a_txt='a', b_txt='b')
    (tmp_path / 'folder').mkdir()
    (tmp_path / 'folder' / 'linked').symlink_to(tmp_path / 'elsewhere')
    (tmp_path / 'elsewhere' / 'circle').symlink_to(tmp_path / 'folder')
    ids = _ids(plan_documents(tmp_path / 'folder', 0.5))
    assert sorted(ids['train'] + ids['validation']) == ['linked/a.txt', 'linked/b.txt']


@pytest.mark.parametrize('encoding', ['utf-16', 'utf-8-sig'])
def test_a_document_with_a_byte_order_mark_is_text(tmp_path, encoding):
    _write(tmp_path, a_txt='naïve 文'.encode(encoding), b_txt='b')
    texts = _texts(plan_documents(tmp_path, 0.5))
    assert sorted(texts['train'] + texts['validation']) == ['b', 'naïve 文']


def test_fingerprint_depends_on_text_split_and_names_alone(tmp_path):
    here, there = _write(tmp_path / 'here', a_txt='a', b_txt='b'), _write(tmp_path / 'there', a_txt='a', b_txt='b')

    def of(folder):
        return fingerprint(plan_documents(folder, 0.5))

    first = of(here)
    assert of(there) == first
    _write(there, b_txt='c')
    assert of(there) != first
    (here / 'b.txt').rename(here / 'c.txt')
    assert of(here) != first


def test_fingerprint_of_a_file_depends_on_the_cut(tmp_path):
    _write(tmp_path, a_txt='0123456789')
    assert fingerprint(plan_documents(tmp_path / 'a.txt', 0.2)) != fingerprint(plan_documents(tmp_path / 'a.txt', 0.5))


REFUSED = {
    'absent.txt': (None, 'absent.txt: there is no such file or folder'),
    'latin.txt': ('naïve'.encode('latin-1'), r'latin.txt, line 1: byte 3 \(0xef\) is not UTF-8'),
    'wide.txt': ('wide'.encode('utf-16-le'), 'wide.txt, line 1: byte 2 is zero: it looks binary, where UTF-8'),
    'late.txt': (b'x\n' * 4500 + b'\0x', 'late.txt, line 4501: byte 1 is zero: it looks binary, where UTF-8'),
    'empty.txt': (b'', 'empty.txt: has no text'),
    'blank.txt': (b' \n\n', 'blank.txt: has no text'),
    'ends.txt': (b'words' + b'\n' * 5, 'ends.txt: leaves no text for validation'),
    'broken.gz': (b'not gzip', 'broken.gz: is not a whole gzip file'),
    'short.gz': (gzip.compress(b'text' * 99)[:-9], 'short.gz: is not a whole gzip file'),
}


@pytest.mark.parametrize('name', REFUSED)
def test_refused_file_is_named_in_one_line(tmp_path, name):
    content, message = REFUSED[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message) as caught:
        plan_documents(tmp_path / name, 0.5)
    assert '\n' not in str(caught.value)


def test_files_whose_names_are_not_utf8_are_documents(tmp_path):
    for number in range(4):
        Path(os.fsdecode(os.fsencode(tmp_path) + b'/\xff%d.txt' % number)).write_text(f'text {number}')
    plan = plan_documents(tmp_path, 0.5)
    assert sorted(id for ids in _ids(plan).values() for id in ids) == [f'\\udcff{number}.txt' for number in range(4)]
    assert fingerprint(plan) == fingerprint(plan_documents(tmp_path, 0.5))


def test_undecodable_file_of_a_folder_is_named(tmp_path):
    _write(tmp_path, a_txt='fine', b_txt=b'not \xff fine')
    with pytest.raises(UserError, match=r'b\.txt, line 1: byte 5 \(0xff\)'):
        plan_documents(tmp_path, 0.5)


@pytest.mark.parametrize('skipped', ['', 'empty_txt', 'picture_png'])
def test_folder_without_text(tmp_path, skipped):
    _write(tmp_path / 'folder', **({skipped: b'\0' if 'png' in skipped else b''} if skipped else {}))
    (tmp_path / 'folder').mkdir(exist_ok=True)
    with pytest.raises(UserError, match='folder: has no text'):
        plan_documents(tmp_path / 'folder', 0.5)


@pytest.mark.parametrize(
    'texts', [{'a_txt': 'a'}, {'train_txt': 'a', 'val_txt': ''}, {'train_txt': '', 'val_txt': 'a'}]
)
def test_folder_that_leaves_a_split_without_text(tmp_path, texts):
    with pytest.raises(UserError, match=r'leaves no text for (train|validation)'):
        plan_documents(_write(tmp_path, **texts), 0.5)


def test_dangling_link_is_named(tmp_path):
    _write(tmp_path, a_txt='a')
    (tmp_path / 'b.txt').symlink_to(tmp_path / 'gone')
    with pytest.raises(UserError, match=r'b\.txt: cannot be read \(No such file'):
        plan_documents(tmp_path, 0.5)


def test_file_that_changes_between_plan_and_preparation_is_refused(tmp_path):
    plan = plan_documents(_write(tmp_path, a_txt='before') / 'a.txt', 0.5)
    _write(tmp_path, a_txt='after!')
    with pytest.raises(UserError, match=r'a\.txt: changed while it was being read'):
        list(plan['train'][0].parts())
