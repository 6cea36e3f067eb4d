# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of text that bring the special tokens of a denoiser along."""

import jax
import numpy as np
import pytest

from saccade.data.pipeline import eval_batches
from saccade.data.rows.pack import Windows
from saccade.data.split import RowSource
from saccade.data.text.marked import MarkedText, sentinels_of
from saccade.data.tokenizer.bpe import BPE
from saccade.data.tokenizer.byte import Byte
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.types import Data, Part, UserError

NAMES = tuple(f'<extra_id_{number}>' for number in range(3))
SPECIALS = (*NAMES, '[S]', '[R]')


@pytest.fixture
def text(tmp_path):
    file = tmp_path / 'text.txt'
    file.write_text('a sentence of some words, and another one of more.\n\n' * 20)
    return file


def data(text, sentinels=3, specials=SPECIALS, **settings):
    tokenizer = Part(Byte, (('specials', specials),))
    return MarkedText(
        tokenizer=tokenizer, context_length=16, pack=Part(Windows), path=str(text), sentinels=sentinels, **settings
    )


def test_rows_are_those_of_the_text_with_ids_and_their_number(text, tmp_path):
    prepared = data(text, modes=('[R]', '[S]')).prepare(tmp_path / 'cache')
    rows, ids = prepared.splits['train'].rows, prepared.processor.specials
    row = rows[2]
    assert isinstance(rows, RowSource)
    assert [row['[R]'], row['[S]']] == [ids['[R]'], ids['[S]']]
    assert row['sentinels'].tolist() == [ids[name] for name in NAMES]
    assert (row['end'], row['start'], row['row']) == (prepared.processor.end, prepared.processor.end, 2)
    assert row['tokens'].shape == (17,)
    assert rows.padding()['row'] == -1
    assert rows.padding()['segments'].sum() == 0
    assert (prepared.splits['train'].targets, prepared.splits['train'].unit) == (len(rows), 'rows')


def test_batches_have_the_shapes_that_were_said(text, tmp_path):
    given = data(text, modes=('[R]',), start='[S]')
    prepared = given.prepare(tmp_path / 'cache')
    (batch, *_) = eval_batches(prepared.splits['validation'], 4)
    assert jax.tree.map(lambda array: (array.shape, array.dtype), batch) == jax.tree.map(
        lambda array: (array.shape, array.dtype), given.batch_like(4)
    )
    assert (batch['start'] == prepared.processor.specials['[S]']).all()
    assert isinstance(given, Data)


@pytest.mark.parametrize('trainer', [Byte(specials=SPECIALS), BPE(vocabulary=300, specials=SPECIALS)])
def test_ids_are_stable_whatever_the_text_and_after_saving(trainer, tmp_path):
    first, second = trainer.train(['one text']), trainer.train(['quite another text of more words'])
    assert sentinels_of(first, 3).tolist() == sentinels_of(second, 3).tolist() == [1, 2, 3]
    first.save(tmp_path)
    assert sentinels_of(Tokenizer.load(tmp_path / 'tokenizer.json'), 3).tolist() == [1, 2, 3]


def test_a_text_that_spells_a_sentinel_out_has_none(text, tmp_path):
    text.write_text('call it <extra_id_0> and no [R] more\n\n' * 20)
    prepared = data(text).prepare(tmp_path / 'cache')
    rows = prepared.splits['train'].rows
    specials = {*prepared.processor.specials.values()} - {prepared.processor.end}
    assert not specials & {*np.concatenate([rows[row]['tokens'] for row in range(len(rows))]).tolist()}


def test_too_few_sentinels_and_modes_that_are_not_there_are_refused(text, tmp_path):
    with pytest.raises(UserError, match="has 3 of 5 sentinels; '<extra_id_3>' is not"):
        data(text, sentinels=5).prepare(tmp_path / 'cache')
    with pytest.raises(UserError, match=r"no special token '\[X\]'"):
        data(text, modes=('[X]',)).prepare(tmp_path / 'cache')
