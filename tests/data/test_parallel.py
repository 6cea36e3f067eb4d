# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parallel texts of the user's own and of TFDS: what becomes of them, and what is said of those that are bad."""

import gzip
import json
import logging
from dataclasses import replace

import numpy as np
import pytest
import tensorflow_datasets as tfds

from saccade.data.corpus.dataset import Picked
from saccade.data.corpus.records import DatasetRecords, Records
from saccade.data.pairs.parallel import Parallel
from saccade.data.tokenizer.bpe import BPE
from saccade.data.tokenizer.character import Character
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.word import Word
from saccade.types import Data, Part, UserError

WORDS = Part(Word).replace(vocabulary=60)
EN = ['a dog runs', 'two men sit', 'the child plays outside', 'one cat']
DE = ['ein hund rennt', 'zwei männer sitzen', 'das kind spielt draußen', 'eine katze']


def lines(path, texts, pack=False):
    content = '\n'.join([*texts, '']).encode()
    path.write_bytes(gzip.compress(content) if pack else content)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / 'pairs'
    made.mkdir()
    for name, pack in (('train', False), ('val', True)):
        for language, texts in (('en', EN), ('de', DE)):
            count = len(texts) if name == 'train' else 2
            lines(made / f'{name}.{language}{".gz" if pack else ""}', texts[:count], pack)
    return made


def data(path, **changes):
    settings = dict(
        tokenizer=WORDS, source='en', target='de', source_context_length=6, context_length=6, path=str(path)
    )
    return Parallel(**(settings | changes))


def pairs(split):
    return [(split.sources[row], split.references[row]) for row in range(len(split.rows))]


def refusal(tmp_path, made):
    with pytest.raises(UserError) as raised:
        made.prepare(tmp_path / 'cache')
    (line,) = str(raised.value).splitlines()
    return line


def test_sources_are_tagged_with_the_language_of_their_target(folder, tmp_path):
    table = tmp_path / 'pairs.tsv'
    rows = [('text', 'other', 'language'), *zip(EN, DE, ['de'] * 4, strict=True), *zip(DE, EN, ['en'] * 4, strict=True)]
    table.write_text('\n'.join(map('\t'.join, rows)) + '\n')
    made = data(table, source='text', target='other', source_context_length=7, tag='language')
    prepared = made.prepare(tmp_path / 'cache')
    found = [pair for split in prepared.splits.values() for pair in pairs(split)]
    assert set(found) == {
        *((f'<2de> {en}', de) for en, de in zip(EN, DE, strict=True)),
        *((f'<2en> {de}', en) for en, de in zip(EN, DE, strict=True)),
    }
    tags = {'<2de>', '<2en>'}
    assert tags <= {*prepared.processor.backend.get_vocab()}
    plain = data(table, source='text', target='other').prepare(tmp_path / 'cache')
    assert not tags & {*plain.processor.backend.get_vocab()}
    assert "data.tag: line-aligned files have no column 'language'" in refusal(tmp_path, data(folder, tag='language'))


@pytest.mark.parametrize('language', [None, '', ' ', 3])
def test_a_pair_without_a_language_is_not_tagged(tmp_path, language):
    table = tmp_path / 'pairs.jsonl'
    languages = [' de ', 'de', 'de\t', language]
    rows = [dict(en=en, de=de, to=to) for en, de, to in zip(EN, DE, languages, strict=True)]
    table.write_text(''.join(json.dumps(row) + '\n' for row in rows[:3]))
    prepared = data(table, source_context_length=7, tag='to', validation=0.3).prepare(tmp_path / 'cache')
    sources = {source for split in prepared.splits.values() for source, _ in pairs(split)}
    assert sources == {f'<2de> {en}' for en in EN[:3]}
    table.write_text(''.join(json.dumps(row) + '\n' for row in rows))
    message = refusal(tmp_path, data(table, source_context_length=7, tag='to', validation=0.3))
    assert message.endswith(f"pairs.jsonl, line 4: 'to' is not the name of a language, but {language!r}")


def test_either_side_may_have_a_vocabulary_of_its_own(folder, tmp_path):
    made = data(folder, source_tokenizer=Part(Character), source_context_length=32)
    prepared = made.prepare(tmp_path / 'cache')
    both = prepared.processor
    row = prepared.splits['train'].rows[0]
    read, written = row['source'][row['source_segments'] != 0], row['tokens'][row['segments'] != 0]
    assert both.source.decode(read[:-1]) == EN[0]
    assert both.decode(written[1:-1]) == DE[0]
    assert (read[-1], written[-1]) == (both.source.end, both.end)
    assert 'h' not in EN[0]
    assert 'hund' in both.backend.get_vocab()
    assert {len(token) for token in both.source.backend.get_vocab() if token.isalpha()} == {1}
    assert 'runs' not in both.backend.get_vocab()
    assert 'ß' not in both.source.backend.get_vocab()


def test_a_second_tokenizer_is_saved_beside_the_first_and_found_again(folder, tmp_path):
    made = data(folder, source_tokenizer=Part(Character), source_context_length=32)
    both = made.prepare(tmp_path / 'cache').processor
    both.save(tmp_path)
    loaded = Tokenizer.load(tmp_path / 'tokenizer.json')
    assert (loaded.digest, loaded.source.digest) == (both.digest, both.source.digest)
    assert loaded.digest != Tokenizer(both.backend).digest
    kept = data(folder, source_tokenizer=Part(Character), source_context_length=32).prepare(tmp_path / 'other', loaded)
    assert kept.processor.digest == both.digest
    assert Tokenizer(both.backend).source.digest == Tokenizer(both.backend).digest


def test_a_folder_of_line_aligned_files_has_its_splits(folder, tmp_path):
    prepared = data(folder).prepare(tmp_path / 'cache')
    assert pairs(prepared.splits['train']) == list(zip(EN, DE, strict=True))
    assert pairs(prepared.splits['validation']) == list(zip(EN[:2], DE[:2], strict=True))
    assert prepared.splits['train'].targets == sum(len(text.split()) + 1 for text in DE)
    assert prepared.splits['train'].unit == 'tokens'


def test_a_row_has_the_tokens_of_both_and_one_tokenizer_knows_both(folder, tmp_path):
    prepared = data(folder).prepare(tmp_path / 'cache')
    tokenizer, split = prepared.processor, prepared.splits['train']
    row = split.rows[1]
    assert tokenizer.decode(row['source'][row['source_segments'] > 0]) == EN[1]
    assert tokenizer.decode(row['tokens'][row['segments'] > 0]) == split.text(row['tokens']) == DE[1]
    assert row['row'] == 1
    assert isinstance(data(folder), Data)


def test_a_test_split_is_one_more_and_is_never_learned_from(folder, tmp_path):
    for language, texts in (('en', EN), ('de', DE)):
        lines(folder / f'test_2016_flickr.{language}', texts[:3])
    prepared = data(folder).prepare(tmp_path / 'cache')
    assert {*prepared.splits} == {'train', 'validation', 'test'}
    assert len(prepared.splits['test'].rows) == 3
    for language, texts in (('en', EN), ('de', DE)):
        lines(folder / f'test_2017.{language}', texts[:1])
    assert {'test_2016_flickr', 'test_2017'} < set(data(folder).prepare(tmp_path / 'cache').splits)


def test_pairs_of_training_are_held_out_if_only_test_files_are_with_them(tmp_path):
    for language in ('en', 'de'):
        lines(tmp_path / f'train.{language}', [f'{language} {number}' for number in range(50)])
        lines(tmp_path / f'test.{language}', [f'{language} {number}' for number in range(50, 60)])
    splits = data(tmp_path, validation=0.2).prepare(tmp_path / 'cache').splits
    train, validation, test = ({*pairs(splits[name])} for name in ('train', 'validation', 'test'))
    assert len(train) + len(validation) == len(train | validation) == 50
    assert 5 <= len(validation) <= 15
    assert test == {(f'en {number}', f'de {number}') for number in range(50, 60)}


def test_two_files_by_themselves_are_cut_in_two(tmp_path):
    for language in ('en', 'de'):
        lines(tmp_path / f'corpus.{language}', [f'{language} {number}' for number in range(50)])
    splits = data(tmp_path / 'corpus', validation=0.2).prepare(tmp_path / 'cache').splits
    train, validation = (pairs(splits[name]) for name in ('train', 'validation'))
    assert len(train) + len(validation) == 50
    assert 0 < len(validation) < 25
    assert all(source.split()[1] == target.split()[1] for source, target in train + validation)


def test_a_table_goes_by_the_numbers_or_names_of_its_columns(tmp_path):
    lines(tmp_path / 'pairs.tsv', ['\t'.join(pair) for pair in zip(EN, DE, strict=True)])
    splits = data(tmp_path / 'pairs.tsv', source='0', target='1', validation=0.3).prepare(tmp_path / 'cache').splits
    assert sorted(pairs(splits['train']) + pairs(splits['validation'])) == sorted(zip(EN, DE, strict=True))


def test_a_test_beside_tables_is_a_split_of_its_own(tmp_path):
    for split, texts in (('train', zip(EN, DE, strict=True)), ('dev', [('one cat', 'eine katze')])):
        lines(tmp_path / f'{split}.tsv', ['\t'.join(pair) for pair in texts])
    made = data(tmp_path, source='0', target='1')
    assert set(made.prepare(tmp_path / 'cache').splits) == {'train', 'validation'}
    lines(tmp_path / 'test.tsv', ['two men sit\tzwei männer sitzen'])
    assert pairs(made.prepare(tmp_path / 'cache').splits['test']) == [('two men sit', 'zwei männer sitzen')]


def mocked(name, empty=None):
    """What `open_records` makes of a dataset as TFDS describes it, one of whose texts may be empty."""
    with tfds.testing.mock_data(num_examples=8):
        builder = tfds.builder(name)
        sources = {split: list(builder.as_data_source(split=split)) for split in ('train', 'validation')}
    if empty is not None:
        sources['train'][empty] = {**sources['train'][empty], 'de': b''}
    splits = {
        split: DatasetRecords(name, Picked(source, range(8), split), builder.info.features)
        for split, source in sources.items()
    }
    return Records(splits, name)


@pytest.mark.parametrize(('name', 'source'), [('wmt17_translate/de-en', 'en'), ('ted_hrlr_translate/az_to_en', 'az')])
def test_a_dataset_of_tfds_by_its_name(name, source, tmp_path, monkeypatch):
    pytest.importorskip('tensorflow_datasets.translate')
    monkeypatch.setattr('saccade.data.pairs.parallel.open_records', lambda *given, **_: mocked(given[0]))
    target = 'de' if source == 'en' else 'en'
    made = data('', source=source, target=target, tokenizer=Part(BPE).replace(vocabulary=300), context_length=500)
    made = replace(made, path=None, name=name, source_context_length=500)
    splits = made.prepare(tmp_path).splits
    records = mocked(name).splits['train']
    assert pairs(splits['train']) == [(records[row][source], records[row][target]) for row in range(8)]


def test_an_empty_text_of_a_dataset_is_left_out_and_counted(tmp_path, monkeypatch, caplog):
    pytest.importorskip('tensorflow_datasets.translate')
    monkeypatch.setattr('saccade.data.pairs.parallel.open_records', lambda *given, **_: mocked(given[0], empty=2))
    made = data('', tokenizer=Part(BPE).replace(vocabulary=300), context_length=500, source_context_length=500)
    with caplog.at_level(logging.WARNING):
        splits = replace(made, path=None, name='wmt17_translate/de-en').prepare(tmp_path).splits
    assert len(splits['train'].rows) == 7
    assert "1 of 8 pairs have an empty text and are skipped; the first is wmt17_translate/de-en, train[2], 'de'" in (
        caplog.text
    )


def test_what_is_too_long_is_left_out_of_training_and_judged_all_the_same(folder, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        splits = data(folder, source_context_length=4, context_length=5).prepare(tmp_path / 'cache').splits
    assert [source for source, _ in pairs(splits['train'])] == [EN[0], EN[1], EN[3]]
    said = [record.getMessage() for record in caplog.records if record.getMessage().startswith('train')]
    assert said == [
        'train: 1 of 4 pairs are longer than their rows (data.source_context_length of 4 tokens: 1; '
        f'data.context_length of 5: 0); the first is {folder}/train.{{en,de}}, line 3; training skips them'
    ]
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        splits = data(folder, source_context_length=3, context_length=9).prepare(tmp_path / 'cache').splits
    assert len(splits['validation'].rows) == 2  # they count, and no token of them is read
    assert splits['validation'].rows[0]['source_segments'].sum() == 0
    assert splits['validation'].targets == 0
    assert 'validation: 2 of 2 pairs' in caplog.text


def test_nothing_short_enough_is_refused(folder, tmp_path):
    made = data(folder, source_context_length=2)
    assert 'no pair is short enough to train on; raise data.source_context_length' in refusal(tmp_path, made)


def test_unknown_tokens_are_counted_by_side_with_the_first_place(folder, tmp_path, caplog):
    lines(folder / 'val.en', ['a dog sleeps', 'two men sleep'])
    (folder / 'val.en.gz').unlink()
    with caplog.at_level(logging.WARNING):
        data(folder).prepare(tmp_path / 'cache')
    (said,) = [record.getMessage() for record in caplog.records]
    assert said == (
        'validation: 2 of 6 tokens of the source are unknown to the tokenizer; the first is in '
        f'{folder}/val.{{en,de}}, line 1'
    )


def test_bytes_leave_nothing_unknown(folder, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        splits = (
            data(folder, tokenizer=Part(BPE).replace(vocabulary=300), source_context_length=40, context_length=40)
            .prepare(tmp_path / 'cache')
            .splits
        )
    assert not caplog.records
    row = splits['train'].rows[1]
    assert splits['train'].text(row['tokens'][row['segments'] > 0]) == DE[1]


def test_files_that_are_not_aligned_are_refused_naming_where(folder, tmp_path):
    lines(folder / 'train.de', DE[:3])
    expected = f'{folder}/train.en has 4 lines, but train.de has 3: they are not aligned; line 4 has no counterpart'
    assert refusal(tmp_path, data(folder)) == expected


@pytest.mark.parametrize('text', ['', '  '])
def test_an_empty_line_is_refused_naming_its_number_and_language(folder, tmp_path, text):
    lines(folder / 'train.de', [DE[0], text, *DE[2:]])
    expected = f"{folder}/train.{{en,de}}, line 2: 'de' is empty; a pair needs both texts"
    assert refusal(tmp_path, data(folder)) == expected


def test_a_language_there_is_not_is_refused_naming_those_there_are(folder, tmp_path):
    assert refusal(tmp_path, data(folder, target='fr')) == (
        f"{folder}/train: there is no file in the language 'fr', train.fr; there are de, en; set data.source and "
        'data.target'
    )


def test_a_missing_split_or_path_is_refused(folder, tmp_path):
    for file in folder.glob('val.*'):
        file.unlink()
    assert 'validation.* or valid.* or val.* or dev.*; there are train' in refusal(tmp_path, data(folder))
    assert 'nowhere' in refusal(tmp_path, data(tmp_path / 'nowhere'))
    with pytest.raises(UserError, match="give either 'name'"):
        replace(data(folder), path=None).prepare(tmp_path)


def test_a_line_separator_of_unicode_ends_no_line(folder, tmp_path):
    lines(folder / 'train.en', [EN[0] + '\u2028x', *EN[1:]])
    assert pairs(data(folder).prepare(tmp_path / 'cache').splits['train'])[0][0] == EN[0] + '\u2028x'


def test_it_is_prepared_once(folder, tmp_path):
    first = data(folder).prepare(tmp_path / 'cache')
    files = sorted((tmp_path / 'cache').rglob('*.npy'))
    again = data(folder).prepare(tmp_path / 'cache')
    assert sorted((tmp_path / 'cache').rglob('*.npy')) == files != []
    np.testing.assert_array_equal(first.splits['train'].rows[0]['tokens'], again.splits['train'].rows[0]['tokens'])
