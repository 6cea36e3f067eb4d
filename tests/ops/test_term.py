# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Score terms, alone and within a scoring."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.mask import Causal, Full
from saccade.ops.scoring import Scoring, grouped_products, weighted_values
from saccade.ops.term import (
    CountedKeys,
    DistanceTable,
    LinearBias,
    RelativeKeys,
    RelativeWaves,
    Softcap,
    TermBase,
)
from saccade.types import ScoreTerm, UserError

B, T, S, N, K, H = 2, 3, 4, 4, 2, 8
EXACT = 1e-6
NEAR = 1e-5
BF16_RELATIVE = 2e-2


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


def test_linear_bias():
    expected = np.asarray(scores()).copy()
    slopes = (0.5, 0.25, 0.1, 0.0)
    for b, n, t, s in np.ndindex(B, N, T, S):
        expected[b, n, t, s] -= slopes[n] * abs(t - s)
    np.testing.assert_allclose(scores(LinearBias(slopes)), expected, atol=EXACT)


@pytest.mark.parametrize('slopes', [(0.5, 0.25, 0.1), (0.5,)])
def test_a_linear_bias_without_a_slope_for_each_head_is_refused(slopes):
    with pytest.raises(UserError, match=rf'^ops.term:LinearBias has {len(slopes)} slopes for {N} heads; give one a'):
        scores(LinearBias(slopes))


VECTORS = normal(6, 5, H)  # for distances from -2 to 2
WAVES = {'content': normal(7, N, H), 'position': normal(8, N, H), 'projection': normal(9, 6, N, H)}


def test_relative_keys():
    """Equation 5 of Shaw et al. 2018, pair by pair."""
    expected = np.zeros((B, N, T, S))
    for b, n, t, s in np.ndindex(B, N, T, S):
        key = np.asarray(KEYS)[b, s, n // 2] + np.asarray(VECTORS)[np.clip(s - t, -2, 2) + 2]
        expected[b, n, t, s] = 0.3 * np.asarray(Q)[b, t, n] @ key
    np.testing.assert_allclose(scores(RelativeKeys(VECTORS), scale=0.3), expected, atol=NEAR)


def relative_waves(q_index, k_index):
    """Section 3.3 of Dai et al. 2019, pair by pair: (q + u).k + (q + v).W r(i - j)."""
    q, keys, u, v, projection = (np.asarray(x) for x in (Q, KEYS, *WAVES.values()))
    expected = np.zeros((B, N, T, S))
    for b, n, t, s in np.ndindex(B, N, T, S):
        angle = (q_index[b][t] - k_index[b][s]) * 50.0 ** (-np.arange(0, 6, 2) / 6)
        wave = np.concatenate([np.sin(angle), np.cos(angle)]) @ projection[:, n]
        expected[b, n, t, s] = 0.3 * ((q[b, t, n] + u[n]) @ keys[b, s, n // 2] + (q[b, t, n] + v[n]) @ wave)
    return expected


def test_relative_waves():
    term = RelativeWaves(*WAVES.values(), 50.0)
    expected = relative_waves(2 * [range(T)], 2 * [range(S)])
    np.testing.assert_allclose(scores(term, scale=0.3), expected, atol=NEAR)


def test_relative_waves_take_positions_by_row():
    term, scoring = RelativeWaves(*WAVES.values(), 50.0), Scoring(Full(), scale=0.3)
    q_index, k_index = [[5, 6, 7], [0, 1, 2]], [[7, 6, 5, 4], [0, 1, 2, 3]]
    pairs = scoring.pairs(jnp.array(q_index), jnp.array(k_index))
    given, _ = term(0.3 * grouped_products(Q, KEYS), Q, KEYS, pairs, ())
    np.testing.assert_allclose(given, relative_waves(q_index, k_index), atol=NEAR)


@pytest.mark.parametrize('scale', [0.3, 3.0])
def test_counted_keys(scale):
    """Equations 3 to 6 of Golovneva et al. 2024, pair by pair."""
    q, keys, table = (np.asarray(x, np.float64) for x in (Q, KEYS, VECTORS[:3]))
    expected = np.zeros((B, N, T, S))
    for b, n, t in np.ndindex(B, N, T):
        count = 0.0
        for s in range(t, -1, -1):
            score = scale * q[b, t, n] @ keys[b, s, n // 2]
            count += 1 / (1 + np.exp(-score))
            place = min(count, 2.0)
            below, above = table[int(np.floor(place))], table[int(np.ceil(place))]
            vector = below + (place - np.floor(place)) * (above - below)
            expected[b, n, t, s] = score + scale * q[b, t, n] @ vector
    scoring = Scoring(Causal(), (CountedKeys(VECTORS[:3]),), scale)
    given, _ = scoring.scores(Q, KEYS, scoring.pairs(*INDEX), scoring.init_carry(Q))
    seen = np.tril(np.ones((T, S), bool))
    np.testing.assert_allclose(np.asarray(given)[..., seen], expected[..., seen], atol=10 * NEAR)


@pytest.mark.long
def test_the_count_passes_between_blocks_from_the_last_key_to_the_first():
    term, scoring = CountedKeys(VECTORS), Scoring(Causal())
    whole, _ = term(grouped_products(Q, KEYS), Q, KEYS, scoring.pairs(*INDEX), term.init_carry(Q))
    carry, parts = term.init_carry(Q), []
    for block in (slice(1, 4), slice(0, 1)):
        pairs = scoring.pairs(INDEX[0], INDEX[1][block])
        part, carry = term(grouped_products(Q, KEYS[:, block]), Q, KEYS[:, block], pairs, carry)
        parts.insert(0, part)
    np.testing.assert_allclose(jnp.concatenate(parts, axis=-1), whole, atol=NEAR)


TRAINED = {
    'relative keys': ((5, H), RelativeKeys),
    'counted keys': ((5, H), CountedKeys),
    'relative waves': ((6, N, H), lambda leaf: RelativeWaves(leaf[0], leaf[1], leaf, 50.0)),
}


@pytest.mark.long
@pytest.mark.parametrize('name', TRAINED)
def test_gradients_in_bfloat16_are_summed_in_float32(name):
    """Nearly all of a thousand keys meet the same row: a sum kept in eight bits would stall at 256 of them."""
    shape, make = TRAINED[name]
    q, keys = jnp.abs(normal(0, 1, 2, N, H)), normal(1, 1, 1024, N, H) / 8
    scoring = Scoring(Full(), scale=0.3)
    pairs = scoring.pairs(jnp.arange(2), jnp.arange(1024))

    def gradient(dtype):
        def loss(leaf):
            term, low = make(leaf), q.astype(dtype)
            return term(0.3 * grouped_products(low, keys), low, keys, pairs, term.init_carry(q))[0].sum()

        return jax.grad(loss)(normal(6, *shape).astype(jnp.bfloat16).astype(dtype)).astype(jnp.float32)

    given, expected = gradient(jnp.bfloat16), gradient(jnp.float32)
    np.testing.assert_allclose(given, expected, rtol=0, atol=BF16_RELATIVE * jnp.abs(expected).max())


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
    terms = (
        Softcap(1.0),
        DistanceTable(TABLE, clipped),
        gate_class(TABLE[0]),
        LinearBias((1.0,)),
        CountedKeys(VECTORS),
    )
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
