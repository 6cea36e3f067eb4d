# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Score terms, alone and within a scoring."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.mask import Causal, Full
from saccade.ops.scoring import Scoring, grouped_products, weighted_values
from saccade.ops.term import DistanceTable, Softcap, TermBase
from saccade.types import ScoreTerm

B, T, S, N, K, H = 2, 3, 4, 4, 2, 8
EXACT = 1e-6


def clipped(distance):
    return jnp.clip(distance + 2, 0, 4)


def normal(number, *shape):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


Q, KEYS, VALUES = normal(0, B, T, N, H), normal(1, B, S, K, H), normal(2, B, S, K, H)
TABLE = normal(3, 5, N)
LOOKED_UP = np.asarray(TABLE)
INDEX = jnp.arange(T), jnp.arange(S)
PAIRS = Scoring(Full()).pairs(*INDEX)


def scores(*terms, scale=1.0):
    scoring = Scoring(Full(), terms, scale)
    return scoring.scores(Q, KEYS, scoring.pairs(*INDEX), scoring.init_carry(Q))[0]


def test_products_share_key_heads_in_groups():
    expected = [
        [[[Q[b, t, n] @ KEYS[b, s, n // 2] for s in range(S)] for t in range(T)] for n in range(N)] for b in range(B)
    ]
    np.testing.assert_allclose(grouped_products(Q, KEYS), expected, atol=1e-5)


def test_values_share_value_heads_in_groups():
    weights = np.asarray(jax.nn.softmax(normal(4, B, N, T, S)))
    expected = np.zeros((B, T, N, H))
    for b, t, n, s in np.ndindex(B, T, N, S):
        expected[b, t, n] += weights[b, n, t, s] * np.asarray(VALUES)[b, s, n // 2]
    np.testing.assert_allclose(weighted_values(jnp.array(weights), VALUES), expected, atol=EXACT)


def test_scores_are_scaled_products_in_float32():
    np.testing.assert_allclose(scores(scale=0.25), 0.25 * grouped_products(Q, KEYS), atol=EXACT)
    scoring = Scoring(Full())
    low = scoring.scores(Q.astype(jnp.bfloat16), KEYS.astype(jnp.bfloat16), scoring.pairs(*INDEX), ())[0]
    assert low.dtype == jnp.float32


def test_softcap():
    np.testing.assert_allclose(scores(Softcap(2.0)), 2.0 * np.tanh(np.asarray(scores()) / 2.0), atol=EXACT)


def test_distance_table():
    expected = np.asarray(scores()).copy()
    for b, n, t, s in np.ndindex(B, N, T, S):
        expected[b, n, t, s] += LOOKED_UP[np.clip(s - t + 2, 0, 4), n]
    np.testing.assert_allclose(scores(DistanceTable(TABLE, clipped)), expected, atol=EXACT)


def test_distance_table_takes_positions_by_row():
    q_index, k_index = jnp.array([[5, 6, 7], [0, 1, 2]]), jnp.array([[7, 6, 5, 4], [0, 1, 2, 3]])
    pairs = Scoring(Full()).pairs(q_index, k_index)
    changed, _ = DistanceTable(TABLE, clipped)(jnp.zeros((B, N, T, S)), Q, KEYS, pairs, ())
    for b, n, t, s in np.ndindex(B, N, T, S):
        assert changed[b, n, t, s] == LOOKED_UP[np.clip(int(k_index[b, s] - q_index[b, t]) + 2, 0, 4), n]


def test_terms_act_in_order():
    cap, table = Softcap(0.5), DistanceTable(TABLE, clipped)
    assert jnp.abs(scores(table, cap)).max() <= 0.5
    assert jnp.abs(scores(cap, table)).max() > 0.5


def test_a_carry_passes_between_blocks_from_the_last_key_to_the_first(gate_class):
    term, scoring = gate_class(normal(5, N)), Scoring(Causal())
    whole, _ = term(grouped_products(Q, KEYS), Q, KEYS, scoring.pairs(*INDEX), term.init_carry(Q))
    carry, parts = term.init_carry(Q), []
    for block in (slice(2, 4), slice(0, 2)):
        pairs = scoring.pairs(INDEX[0], INDEX[1][block])
        part, carry = term(grouped_products(Q, KEYS[:, block]), Q, KEYS[:, block], pairs, carry)
        parts.insert(0, part)
    np.testing.assert_allclose(jnp.concatenate(parts, axis=-1), whole, atol=EXACT)


def test_terms_satisfy_their_protocol(gate_class):
    terms = (Softcap(1.0), DistanceTable(TABLE, clipped), gate_class(TABLE[0]))
    assert all(isinstance(term, ScoreTerm) for term in terms)
    assert jax.tree.leaves(Softcap(1.0)) == []
    assert len(jax.tree.leaves(DistanceTable(TABLE, clipped))) == 1


def test_a_term_without_change_is_refused():
    with pytest.raises(NotImplementedError):
        scores(TermBase())


def test_allowed_has_an_axis_for_heads():
    assert Scoring(Causal()).pairs(*INDEX).allowed.shape == (1, 1, T, S)
    rows = jnp.zeros((B, T), int), jnp.zeros((B, S), int)
    assert Scoring(Causal()).pairs(*rows).allowed.shape == (B, 1, T, S)
