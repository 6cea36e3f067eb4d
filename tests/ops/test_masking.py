# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Which tokens are hidden, and behind what."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.masking import budget, choose_tokens, choose_words, corrupt, row_keys

B, T, V, MASK = 400, 40, 1000, 4
SHARE = 0.15
ROWS = jnp.arange(B)
KEYS = row_keys(jax.random.key(0), ROWS)
# Words of 1, 2 and 3 tokens in turn; special tokens first and last, and some padding.
WORDS = np.zeros(T, np.int32)
WORDS[1:31] = np.repeat(np.arange(1, 16), [1 + word % 3 for word in range(15)])
WORDS = jnp.tile(jnp.array(WORDS), (B, 1))

both = pytest.mark.parametrize('choose', [choose_tokens, choose_words])


def chosen(choose, words=WORDS, share=SHARE, keys=KEYS):
    found = choose(keys, words, share)
    marks = np.zeros(words.shape, int)
    for row, (at, counts) in enumerate(zip(np.asarray(found.at), np.asarray(found.counts), strict=True)):
        np.add.at(marks[row], at[counts > 0], 1)
    return found, marks


@pytest.mark.long
@both
def test_special_tokens_and_padding_are_never_chosen_and_no_token_twice(choose):
    _, marks = chosen(choose)
    assert not marks[np.asarray(WORDS) == 0].any()
    assert marks.max() == 1


def test_the_share_of_each_row_is_chosen():
    _, marks = chosen(choose_tokens)
    np.testing.assert_array_equal(marks.sum(axis=-1), round(SHARE * 30))
    assert (marks.mean(axis=0)[1:31] > 0).all()


def test_every_token_is_chosen_as_often_as_any_other():
    _, marks = chosen(choose_tokens, share=0.3)
    rates = marks[:, 1:31].mean(axis=0)
    assert abs(rates - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / B)


def test_words_are_chosen_whole_and_no_more_than_the_share():
    _, marks = chosen(choose_words)
    words = np.asarray(WORDS[0])
    for number in range(1, 16):
        assert set(marks[:, words == number].mean(axis=-1)) <= {0.0, 1.0}
    assert marks.sum(axis=-1).max() <= round(SHARE * 30)
    assert marks.sum(axis=-1).mean() > 0.7 * SHARE * 30


@pytest.mark.parametrize('tokens', [10, 12, 24, 60])
def test_of_words_that_fit_none_is_cut_and_none_is_left_out(tokens):
    draw, length = np.random.default_rng(tokens), 64
    words = np.zeros((B, length), np.int32)
    for row in words:
        sizes = draw.integers(1, 6, tokens)
        row[1 : tokens + 1] = np.repeat(np.arange(1, tokens + 1), sizes)[:tokens]
    _, marks = chosen(choose_words, jnp.array(words), SHARE)
    for row, mark in zip(words, marks, strict=True):
        sizes = {number: (row == number).sum() for number in set(row[row > 0].tolist())}
        taken = {number: mark[row == number].sum() for number in sizes}
        room = max(1, round(SHARE * tokens)) - sum(taken.values())
        assert room >= 0
        left = [size for number, size in sizes.items() if not taken[number]]
        if min(sizes.values()) <= room + sum(taken.values()):
            assert all(taken[number] in (0, size) for number, size in sizes.items())
            assert all(size > room for size in left)
        else:
            assert room == 0
            assert len([number for number in taken if taken[number]]) == 1


@pytest.mark.long
def test_a_word_longer_than_the_share_is_chosen_as_far_as_it_reaches():
    words = jnp.tile(jnp.array([0, *20 * [1], 0]), (3, 1))
    _, marks = chosen(choose_words, words, keys=KEYS[:3])
    np.testing.assert_array_equal(marks.sum(axis=-1), round(SHARE * 20))


@pytest.mark.long
@both
def test_a_short_row_has_one_and_a_row_of_nothing_none(choose):
    words = jnp.zeros((2, T), int).at[0, 1].set(1)
    found, marks = chosen(choose, words, keys=KEYS[:2])
    assert found.at.shape == (2, budget(SHARE, T))
    np.testing.assert_array_equal(marks.sum(axis=-1), [1, 0])


@both
def test_a_row_has_the_same_tokens_chosen_wherever_it_stands_in_a_batch(choose):
    found = choose(KEYS, WORDS, SHARE)
    again = choose(row_keys(jax.random.key(0), ROWS[::-1]), WORDS, SHARE)
    np.testing.assert_array_equal(found.at, again.at[::-1])


@pytest.mark.long
def test_tokens_become_the_mask_any_token_or_stay():
    tokens = jnp.full((B, 100), 7)
    new = np.asarray(corrupt(KEYS, tokens, jnp.full(B, MASK), V, (0.8, 0.1)))
    count = new.size
    for share, of in ((0.8, new == MASK), (0.1, new == 7), (0.1, (new != 7) & (new != MASK))):
        assert abs(of.mean() - share) < 5 * np.sqrt(share * (1 - share) / count)
    noise = new[(new != 7) & (new != MASK)]
    assert noise.min() < 0.01 * V
    assert 0.99 * V < noise.max() < V


@pytest.mark.long
def test_only_places_that_count_are_written():
    words = jnp.zeros((1, T), int).at[0, 5].set(1)
    found = choose_tokens(KEYS[:1], words, SHARE)
    tokens = jnp.arange(T)[None]
    written = np.asarray(found.write(tokens, jnp.full((1, budget(SHARE, T)), -1)))
    np.testing.assert_array_equal(np.flatnonzero(written[0] == -1), [5])
    np.testing.assert_array_equal(np.delete(written[0], 5), np.delete(np.arange(T), 5))
