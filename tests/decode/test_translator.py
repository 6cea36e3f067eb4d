# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Texts in, texts out, in their order, as soon as a batch is done."""

import jax
import jax.numpy as jnp
import pytest
from toy_seq2seq import made

from saccade.data.rows.pair_frame import PairFrame
from saccade.data.tokenizer.word import Word
from saccade.decode.beam import Beam
from saccade.decode.greedy import Greedy
from saccade.decode.translator import Translated, Translator
from saccade.types import UserError

TOKENIZER = Word(vocabulary=9).train(['a b c d e f g'])
MODEL, PARAMS = made(vocabulary=TOKENIZER.size, scale=1.5)
FRAME = PairFrame.of(TOKENIZER, MODEL.source_context_length, MODEL.context_length)
TEXTS = ['a b', 'c', '', 'd e f', 'g g g g']


def translator(rows, search=None):
    return Translator(MODEL, PARAMS, TOKENIZER, FRAME, search or Greedy(), rows)


@pytest.fixture(scope='module')
def alone():
    return [next(iter(translator(1).translate([text]))) for text in TEXTS]


@pytest.mark.long
def test_texts_are_translated_in_order_whatever_goes_together(alone):
    assert [each.source for each in alone] == TEXTS
    for rows in (2, 3, 16):
        assert list(translator(rows).translate(TEXTS)) == alone


def test_a_text_is_that_of_the_search_on_its_row(alone):
    row = {name: jnp.asarray(each)[None] for name, each in FRAME.row(TOKENIZER.encode('d e f')).items()}
    written = Greedy()(MODEL, PARAMS, row)
    assert alone[3].ids == written.tokens[0, : written.counts[0]].tolist()
    assert alone[3].text == TOKENIZER.decode(alone[3].ids)
    assert alone[3].source_ids == TOKENIZER.encode('d e f')


@pytest.mark.long
def test_another_search_may_find_another_text():
    best = list(translator(8, Beam(beams=4, early_stopping=False)).translate(TEXTS))
    rows = translator(8).batch([TOKENIZER.encode(text) for text in TEXTS])
    found = Beam(beams=4, early_stopping=False)(MODEL, PARAMS, {name: jnp.asarray(x) for name, x in rows.items()})
    assert [each.ids for each in best] == [
        ids[:count].tolist() for ids, count in zip(found.tokens[:5], found.counts, strict=False)
    ]


def test_of_nothing_nothing_is_written(alone):
    assert (alone[2].text, alone[2].ids) == ('', [])


def test_each_batch_comes_before_the_next_is_read():
    read = []

    def texts():
        for text in TEXTS:
            read.append(text)
            yield text

    translations = translator(2).translate(texts())
    next(translations)
    assert read == TEXTS[:2]


def test_what_is_unknown_is_said(caplog):
    list(translator(2).translate(['a', 'z b z']))
    assert [record.getMessage() for record in caplog.records] == ['text 2: 2 of 3 tokens are unknown to the tokenizer']


def test_a_text_that_is_too_long_is_refused_by_its_number():
    translations = translator(1).translate(['a', 'a b c d e f g'])
    next(translations)
    with pytest.raises(UserError, match='text 2: it has 7 tokens, and the model reads at most 6'):
        next(translations)


@pytest.mark.long
def test_a_model_that_reads_nothing_is_refused(learned):
    with pytest.raises(UserError, match='Decoder is not a Seq2Seq'):
        Translator(*learned, TOKENIZER, FRAME, Greedy())


def test_a_run_shows_a_text_and_what_became_of_it(alone):
    shown = Translated('d e f')(MODEL, PARAMS, TOKENIZER, jax.random.key(0))
    assert shown == f'd e f  =>  {alone[3].text}'
