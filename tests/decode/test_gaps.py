# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gaps of a text become sentinels, and what is written after each sentinel goes into its gap."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import pytest
from toy_seq2seq import made

from saccade.data.rows.pair_frame import PairFrame
from saccade.data.text.marked import SENTINEL
from saccade.data.tokenizer.word import Word
from saccade.decode.gaps import GapFiller, GapsFilled
from saccade.decode.translator import Translator
from saccade.types import DecodedTokens, UserError

SENTINELS = tuple(SENTINEL.format(number) for number in range(3))
TOKENIZER = Word(vocabulary=30, specials=(*SENTINELS, '[R]')).train(['a b c d e f g'])
MODEL, PARAMS = made(vocabulary=TOKENIZER.size, context_length=9, source_context_length=9)
IDS = TOKENIZER.specials


@dataclass(frozen=True)
class Says:
    """Writes always the same, and lets the sources be looked at."""

    said: tuple[int, ...]

    def __call__(self, model, params, batch):
        count = len(self.said)
        return DecodedTokens(jnp.array([[*self.said]]), jnp.array([count]))


def ids(text):
    """Ids of words and special tokens."""
    return tuple(IDS[word] if word in IDS else TOKENIZER.encode(word)[0] for word in text.split())


def filled(text, said, mode=None):
    frame = PairFrame.of(TOKENIZER, 9, 9)
    return GapFiller(Translator(MODEL, PARAMS, TOKENIZER, frame, Says(ids(said)), rows=1).in_mode(mode)).fill(text)


def test_what_is_written_after_a_sentinel_goes_into_its_gap():
    found = filled('a [MASK] d [MASK]', '<extra_id_0> b c <extra_id_1> e <extra_id_2>')
    assert (found.text, found.spans) == ('a b c d e', ['b c', 'e'])


@pytest.mark.parametrize(
    ('said', 'spans'),
    [
        ('', ['', '']),
        ('b c', ['', '']),  # before any sentinel
        ('<extra_id_1> e', ['', 'e']),
        ('<extra_id_1> e <extra_id_0> b', ['b', 'e']),
        ('<extra_id_0> b <extra_id_2> f <extra_id_0> g <extra_id_1>', ['b', '']),  # the first counts
    ],
)
def test_whatever_is_written_a_gap_gets_its_own_or_nothing(said, spans):
    found = filled('a [MASK] d [MASK]', said)
    assert found.spans == spans
    assert found.text == ' '.join(word for word in ('a', spans[0], 'd', spans[1]) if word)


def test_gaps_are_read_as_sentinels_in_order_after_the_mode(monkeypatch):
    read = []
    monkeypatch.setattr(Translator, 'write', lambda translator, sources: read.append((translator, sources)) or [[]])
    filled('[MASK] a b [MASK] c', '', mode='[R]')
    ((translator, (source,)),) = read
    assert tuple(source) == ids('<extra_id_0> a b <extra_id_1> c')
    assert translator.batch([source])['source'][0, 0] == IDS['[R]']


def test_what_cannot_be_filled_is_refused():
    with pytest.raises(UserError, match=r'has no \[MASK\]'):
        filled('a b', '')
    with pytest.raises(UserError, match='has 3 of 4 sentinels'):
        filled('[MASK] [MASK] [MASK] [MASK]', '')
    with pytest.raises(UserError, match='has 8 tokens, and the model reads 7'):
        filled('[MASK] a b c d e f g', '', mode='[R]')


def test_a_run_shows_what_its_model_puts_into_gaps():
    shown = GapsFilled('a [MASK] d', mode='[R]')(MODEL, PARAMS, TOKENIZER, jax.random.key(0))
    (span,) = GapFiller.of(MODEL, PARAMS, TOKENIZER, None, '[R]').fill('a [MASK] d').spans
    assert shown == f'a [{span}] d'


def test_a_sample_that_cannot_be_shown_says_why_and_ends_no_run():
    shown = GapsFilled('a b c d e f g a b [MASK]')(MODEL, PARAMS, TOKENIZER, jax.random.key(0))
    assert shown == 'no sample: the text has 10 tokens, and the model reads 8 at most'
