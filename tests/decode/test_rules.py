# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Token rules: forced and forbidden tokens, and what ends a text."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.data.tokenizer.tokenizer import Around
from saccade.data.tokenizer.word import Word
from saccade.decode.generation import Generation
from saccade.decode.rules import FREE, TokenRules
from saccade.decode.sample import Writer
from saccade.decode.sampling import Sampler
from saccade.types import UserError

V = 8
# Two rows, one padded, of which the second is a single token; then new ones.
BEFORE = jnp.array([[5, 6, 2], [-1, -1, 3]])
WRITTEN = jnp.array([[4, 7, 0, 0], [6, 1, 0, 0]])

# rules, step, and the tokens that each row may have
CASES = {
    'free': (FREE, 2, [range(8), range(8)]),
    'a bad word of one': (TokenRules(bad_words=((3,),)), 2, [{0, 1, 2, 4, 5, 6, 7}] * 2),
    'a bad word is completed': (TokenRules(bad_words=((4, 7, 1),)), 2, [{0, 2, 3, 4, 5, 6, 7}, range(8)]),
    'a bad word began before': (TokenRules(bad_words=((2, 4, 7, 0),)), 2, [range(1, 8), range(8)]),
    'a bad word is longer than all': (TokenRules(bad_words=((9, 9, 9, 9, 9, 0),)), 0, [range(8)] * 2),
    'two bad words': (TokenRules(bad_words=((7, 0), (1, 0))), 2, [range(1, 8)] * 2),
    'not of padding': (TokenRules(bad_words=((0, 3, 5),)), 0, [range(8), range(8)]),
    'not of what is before all': (TokenRules(bad_words=((0, 5, 6, 2, 4),)), 0, [range(8), range(8)]),
    'never': (TokenRules(never=(0, 7)), 1, [range(1, 7)] * 2),
    'not first': (TokenRules(never_first=(0, 7)), 0, [range(1, 7)] * 2),
    'not first, later': (TokenRules(never_first=(0, 7)), 1, [range(8)] * 2),
    'first after a single token': (TokenRules(first=4), 0, [range(8), {4}]),
    'first, later': (TokenRules(first=4), 1, [range(8)] * 2),
    'not first where the first is forced': (TokenRules(first=4, never_first=(0,)), 1, [range(8), range(1, 8)]),
    'not first where the prompt is long': (TokenRules(first=4, never_first=(0,)), 0, [range(1, 8), {4}]),
    'last': (TokenRules(last=(1, 2)), 3, [{1, 2}] * 2),
    'last, earlier': (TokenRules(last=(1, 2)), 2, [range(8)] * 2),
    'new tokens at least': (TokenRules(ends=(6,), min_new_tokens=3), 2, [{0, 1, 2, 3, 4, 7}] * 2),
    'new tokens enough': (TokenRules(ends=(6,), min_new_tokens=2), 2, [range(8)] * 2),
    'tokens at least': (TokenRules(min_length=4), 2, [range(8), {0, 1, 2, 3, 4, 6, 7}]),
    'a forced token was a bad word': (TokenRules(bad_words=((2,),), last=(2,)), 3, [{2}] * 2),
    'a forced token is suppressed': (TokenRules(last=(1, 2), never=(2,)), 3, [{1}] * 2),
}


@pytest.mark.parametrize('case', CASES)
def test_what_may_come_next(case):
    rules, step, allowed = CASES[case]
    scores = jnp.arange(2.0 * V).reshape(2, V) / 7
    found = jax.jit(rules)(scores, BEFORE, WRITTEN, jnp.int32(step), jnp.int32(5))
    for row, tokens, one in zip(np.asarray(found), allowed, np.asarray(scores), strict=True):
        assert set(np.flatnonzero(np.isfinite(row))) == set(tokens)
        kept = np.isfinite(row)
        assert (row[kept] == one[kept]).all() or (row[kept] == 0).all()


def test_ends():
    ends = TokenRules(ends=(1, 4)).are_ends(jnp.array([1, 2, 4, 3]), jnp.array([7, 2, 7, 7]))
    np.testing.assert_array_equal(ends, [True, True, True, False])


WORDS = Word(8, end='</s>').train(['a b c d e f'])


def of_folder(**settings):
    return Generation.of_folder(settings, WORDS, V, '')


def test_settings_of_a_folder():
    found = of_folder(
        eos_token_id=[3, 99, 4], bos_token_id=1, bad_words_ids=[[3], [5], [5, 6]], forced_eos_token_id=2,
        forced_bos_token_id=6, suppress_tokens=[7], begin_suppress_tokens=[0, 1], min_length=5, min_new_tokens=2,
    )  # fmt: skip
    assert (found.end, found.start) == (3, 1)
    assert found.rules == TokenRules((4,), ((5,), (5, 6)), 5, 2, 6, (2,), (7,), (0, 1))
    assert of_folder() == Generation(prompt=Around())
    assert of_folder(decoder_start_token_id=2, bos_token_id=1).start == 2
    assert of_folder(eos_token_id=50256, decoder_start_token_id=58100).end is None


WRONG = [
    ({'bad_words_ids': [5]}, r'bad_words_ids must be a list of lists of token ids, not \[5\]'),
    ({'bad_words_ids': [[8]]}, 'bad_words_ids must be a whole number from 0 to 7, not 8'),
    ({'suppress_tokens': ['a']}, "suppress_tokens must be a whole number from 0 to 7, not 'a'"),
    ({'forced_eos_token_id': -1}, 'forced_eos_token_id must be a whole number from 0 to 7, not -1'),
    ({'eos_token_id': 1.5}, 'eos_token_id must be a whole number'),
    ({'max_length': True}, 'max_length must be a whole number'),
    ({'temperature': 'hot'}, "temperature must be a number, not 'hot'"),
]


@pytest.mark.parametrize(('settings', 'message'), WRONG)
def test_a_wrong_setting_is_named(settings, message):
    with pytest.raises(UserError, match=message):
        of_folder(**settings)


def test_sampling_settings_are_defaults():
    assert of_folder().sampler() == Sampler(0.8)
    assert of_folder(temperature=0.6, top_p=0.9).sampler(top_k=5) == Sampler(0.6, 5, 0.9)
    assert of_folder(temperature=0.6, top_p=0.9).sampler(temperature=1.5) == Sampler(1.5, 0, 0.9)
    assert of_folder(do_sample=True).sampler() == Sampler(1.0, 50)
    assert of_folder(do_sample=False, temperature=0.6).sampler() == Sampler(0.0)
    with pytest.raises(UserError, match='top_p'):
        of_folder(top_p=3).sampler()


def test_lengths_are_defaults():
    assert of_folder().most(5, 100, 30) == 30
    assert of_folder(max_length=12).most(5, 100, 30) == 7
    assert of_folder(max_length=12, max_new_tokens=9).most(5, 100, 30) == 9
    assert of_folder(max_new_tokens=90).most(5, 8, 30) == 8
    with pytest.raises(UserError, match='a prompt of 20 tokens leaves none of max_length=12 of the directory'):
        of_folder(max_length=12).most(20, 100, 30)


def test_settings_that_are_not_obeyed_are_named(caplog):
    of_folder(num_beams=6, repetition_penalty=1.0, no_repeat_ngram_size=3).warn()
    assert 'sets num_beams=6, no_repeat_ngram_size=3, which is not supported' in caplog.text


def test_a_prompt_is_framed_and_an_empty_one_begins(rotary):
    writer = Writer(*rotary, WORDS, Sampler(0.0))
    assert (writer.framed([3]), writer.framed([])) == ([3], [WORDS.end])
    framed = replace(writer, settings=Generation(start=2, prompt=Around((1,), (4,))))
    assert (framed.framed([3]), framed.framed([])) == ([1, 3, 4], [1, 4])
    assert replace(writer, settings=Generation(start=2)).framed([]) == [2]
    assert replace(writer, settings=Generation()).framed([]) == [0]
