# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""States as time, token and rest: by plain loops, exactly, and right where it is known what they are made of."""

import numpy as np
import pytest

from saccade.inside.decomposition import Decomposed, ScoreTerms

B, T, S, H, V = 30, 5, 7, 4, 6
EXACT = 1e-12  # float64


def normal(*shape, number=0):
    return np.random.default_rng(number).normal(size=shape)


def tokens(length, number=0):
    return np.random.default_rng(number).integers(0, V, (B, length))


def ragged(length, number=0):
    counts = np.random.default_rng(number).integers(1, length + 1, (B, 1))
    return np.arange(length) < counts


def decomposed(length, number):
    return Decomposed.of(normal(B, length, H, number=number), tokens(length, number), ragged(length, number))


def test_the_parts_are_those_of_the_definition():
    states, read, real = normal(B, T, H), tokens(T), ragged(T)
    found = Decomposed.of(states, read, real)
    temporal = [np.mean([states[b, t] for b in range(B) if real[b, t]], axis=0) for t in range(T)]
    for b, t in zip(*np.nonzero(real), strict=True):
        alike = [states[c, u] - temporal[u] for c, u in zip(*np.nonzero(real), strict=True) if read[c, u] == read[b, t]]
        driven = np.mean(alike, axis=0)
        expected = temporal[t], driven, states[b, t] - temporal[t] - driven
        np.testing.assert_allclose(found.parts[:, b, t], expected, atol=EXACT)
    assert not found.parts[:, ~real].any()


def test_parts_and_terms_add_up_to_what_they_are_of():
    queries, keys = decomposed(T, 1), decomposed(S, 2)
    states = np.where(queries.real[..., None], normal(B, T, H, number=1), 0)
    np.testing.assert_allclose(queries.parts.sum(0), states, atol=EXACT)
    assert max(queries.error(), keys.error()) < EXACT
    terms = ScoreTerms.of(queries, keys, 0.5)
    products = 0.5 * np.einsum('BTH,BSH->BTS', normal(B, T, H, number=1), normal(B, S, H, number=2))
    np.testing.assert_allclose(terms.terms.sum((0, 1))[terms.seen], products[terms.seen], atol=EXACT)
    assert terms.error() < EXACT


def test_what_does_not_add_up_is_said():
    found = decomposed(T, 1)
    found.parts[0, 3, 0, 2] += 0.25
    assert found.error() == pytest.approx(0.25)
    terms = ScoreTerms.of(decomposed(T, 1), decomposed(S, 2), 1.0)
    terms.terms[1, 2, 4, 0, 0] -= 0.5
    assert terms.error() == pytest.approx(0.5)


def test_what_the_time_leaves_is_orthogonal_to_it_and_in_itself_so_that_shares_sum_to_one():
    found = decomposed(T, 3)
    temporal, driven, rest = found.parts
    assert (temporal * (driven + rest)).sum() == pytest.approx(0, abs=1e-10)
    assert (driven * rest).sum() == pytest.approx(0, abs=1e-10)
    assert found.shares().sum() == pytest.approx(1.0)
    assert found.shares().min() > 0.01


@pytest.mark.parametrize('which', [0, 1])
def test_states_of_one_part_alone_are_found_to_be_that(which):
    real = np.ones((B, T), bool)
    of_time, of_token = normal(T, H), normal(V, H, number=1)
    read = np.stack([np.random.default_rng(row).permutation(V)[:T] for row in range(B)])
    of_token -= of_token.mean(0)
    # Rows in which every token stands once at every time, so that no mean over them is any token's.
    read = np.stack([(first + np.arange(T)) % V for first in range(V)])
    states = np.broadcast_to(of_time, (V, T, H)) if which == 0 else of_token[read]
    expected = np.zeros(3)
    expected[which] = 1
    np.testing.assert_allclose(Decomposed.of(states, read, real[:V]).shares(), expected, atol=EXACT)


def test_a_term_that_makes_the_scores_has_all_of_them():
    """Queries that go by the time, keys by the token: the scores are the term of these two, and one finds all keys."""
    read = np.stack([(first + np.arange(V)) % V for first in range(V)])
    real = np.ones((V, V), bool)
    of_time, of_token = normal(V, H), normal(V, H, number=1)
    of_token -= of_token.mean(0)
    terms = ScoreTerms.of(
        Decomposed.of(np.broadcast_to(of_time, (V, V, H)), read, real), Decomposed.of(of_token[read], read, real), 1.0
    )
    expected = np.zeros((3, 3))
    expected[0, 1] = 1
    np.testing.assert_allclose(terms.shares(), expected, atol=EXACT)
    assert terms.alone()[0, 1] == 1


def test_what_all_keys_of_a_query_have_in_common_has_no_share():
    """A constant in the keys adds to every score of a query alike, which no weight shows."""
    queries, keys = (Decomposed.of(normal(B, n, H, number=n), tokens(n, n), ragged(n, n)) for n in (T, S))
    shifted = Decomposed.of(normal(B, S, H, number=S) + 10, tokens(S, S), ragged(S, S))
    ours, theirs = ScoreTerms.of(queries, keys, 1.0), ScoreTerms.of(queries, shifted, 1.0)
    np.testing.assert_allclose(theirs.shares(), ours.shares(), atol=1e-9)
    np.testing.assert_allclose(theirs.alone(), ours.alone())
    assert ours.shares().sum() == pytest.approx(1.0)
    assert theirs.seen.sum() == (ragged(T, T)[:, :, None] & ragged(S, S)[:, None]).sum()


def test_a_key_that_is_not_there_is_nobodys_favourite():
    queries, keys = decomposed(T, 1), decomposed(S, 2)
    terms = ScoreTerms.of(queries, keys, 1.0)
    alone = np.zeros((3, 3))
    for b, t in zip(*np.nonzero(queries.real), strict=True):
        there = np.flatnonzero(keys.real[b])
        best = there[terms.scores[b, t, there].argmax()]
        alone += there[terms.terms[:, :, b, t, there].argmax(-1)] == best
    np.testing.assert_allclose(terms.alone(), alone / queries.real.sum())
