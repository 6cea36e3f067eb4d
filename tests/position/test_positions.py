# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Each position scheme against its equation."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops import rotary
from saccade.ops.mask import Full
from saccade.ops.scoring import Scoring
from saccade.ops.slopes import geometric_slopes
from saccade.position.alibi import ALiBi
from saccade.position.learned import Learned
from saccade.position.none import NoPosition
from saccade.position.relative_bias import Buckets, RelativeBias
from saccade.position.rotary import Rotary
from saccade.position.rotary_2d import Rotary2D
from saccade.position.sinusoid import Sinusoid
from saccade.position.xpos import XPos
from saccade.types import Part, UserError

NEAR = 1e-5
B, T, D = 2, 4, 6
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
HEADS = jnp.array(np.random.default_rng(1).normal(size=(B, T, 3, D)), jnp.float32)
WIDE = jnp.array(np.random.default_rng(3).normal(size=(B, T, 3, 8)), jnp.float32)
POSITIONS = jnp.array([[0, 1, 2, 3], [5, 0, 1, 9]])


def rotated(module, q, k, q_positions, k_positions):
    return module.apply({}, q, k, q_positions, k_positions, method='rotate')


def product(module, i, j):
    """q.k of one query at position i and one key at position j."""
    places = [jnp.full((B, 1), place) for place in (i, j)]
    q, k = rotated(module, WIDE[:, :1], WIDE[:, 1:2], *places)
    return (q * k).sum(axis=-1)


def test_sinusoid():
    expected = np.asarray(X).copy()
    for b, t, c in np.ndindex(B, T, D // 2):
        angle = int(POSITIONS[b, t]) / 100.0 ** (2 * c / D)
        expected[b, t, 2 * c] += math.sin(angle)
        expected[b, t, 2 * c + 1] += math.cos(angle)
    np.testing.assert_allclose(Sinusoid(base=100.0).apply({}, X, POSITIONS), expected, atol=NEAR)
    sines_first = np.concatenate([expected[..., 0::2] - X[..., 0::2], expected[..., 1::2] - X[..., 1::2]], axis=-1)
    apart = Sinusoid(base=100.0, pairing=Part(rotary.halves)).apply({}, X, POSITIONS)
    np.testing.assert_allclose(apart, X + sines_first, atol=NEAR)
    small = Sinusoid(base=100.0, scale=0.1).apply({}, X, POSITIONS)
    np.testing.assert_allclose(small, X + 0.1 * (expected - X), atol=NEAR)


def test_learned_adds_the_row_of_each_position():
    table = jnp.array(np.random.default_rng(2).normal(size=(10, D)), jnp.float32)
    y = Learned(length=10).apply({'params': {'positions': table}}, X, POSITIONS)
    np.testing.assert_allclose(y, np.asarray(X) + np.asarray(table)[np.asarray(POSITIONS)], atol=NEAR)


@pytest.mark.parametrize(('length', 'stretch', 'longest'), [(3, 1.0, 3), (2, 2.0, 3), (3, 1.4, 3)])
def test_a_sequence_longer_than_the_learned_positions_is_refused(length, stretch, longest):
    module = Learned(length=length, stretch=stretch)
    with pytest.raises(UserError, match=rf'4 tokens .* {longest} learned positions'):
        jax.eval_shape(lambda: module.init(jax.random.key(0), X, POSITIONS))
    jax.eval_shape(lambda: module.init(jax.random.key(0), X[:, :longest], POSITIONS[:, :longest]))


def test_a_stretched_table_is_read_between_its_rows():
    table = np.random.default_rng(2).normal(size=(5, D)).astype(np.float32)
    at = jnp.arange(9)[None]
    y = Learned(length=5, stretch=2.0).apply({'params': {'positions': jnp.array(table)}}, jnp.zeros((1, 9, D)), at)[0]
    np.testing.assert_allclose(y[::2], table, atol=NEAR)
    np.testing.assert_allclose(y[1::2], (table[:-1] + table[1:]) / 2, atol=NEAR)


def test_a_stretched_step_beyond_the_table_is_no_number():
    table = {'params': {'positions': jnp.ones((3, D))}}
    y = Learned(length=3, stretch=2.0).apply(table, jnp.zeros((1, 3, D)), jnp.array([[4, 5, 6]]))[0]
    assert np.isfinite(y[0]).all()
    assert np.isnan(y[1:]).all()


@pytest.mark.parametrize('heads', [1, 2, 8, 16])
def test_slopes_of_a_power_of_two_are_geometric(heads):
    np.testing.assert_allclose(geometric_slopes(heads), [2 ** (-8 * (n + 1) / heads) for n in range(heads)])


def test_slopes_of_other_numbers_of_heads_fill_in_between():
    """Twelve heads: those of eight, then the first, third, fifth and seventh of sixteen."""
    between = [2 ** (-8 * n / 16) for n in (1, 3, 5, 7)]
    np.testing.assert_allclose(geometric_slopes(12), [*geometric_slopes(8), *between])
    assert len(geometric_slopes(7)) == 7


def test_alibi_is_its_equation():
    (term,) = ALiBi().terms(6)
    pairs = Scoring(Full()).pairs(jnp.array([2, 9]), jnp.arange(5))
    bias = term.change(jnp.zeros((B, 6, 2, 5)), pairs)
    for n, t, j in np.ndindex(6, 2, 5):
        i = (2, 9)[t]
        np.testing.assert_allclose(bias[:, n, t, j], -geometric_slopes(6)[n] * abs(i - j), rtol=1e-6)


def test_relative_vectors_of_another_head_width_are_refused():
    spec = {'use': 'position.shaw:Shaw', 'reach': 2, 'head_width': 5}
    (term,), _ = build(spec)().init_with_output(jax.random.key(0), 3, method='terms')
    scoring = Scoring(Full(), (term,))
    with pytest.raises(UserError, match='head_width of 5, but queries have 6'):
        scoring.scores(HEADS, HEADS, scoring.pairs(jnp.arange(T), jnp.arange(T)), ((),))


@pytest.mark.parametrize(
    ('spec', 'message'),
    [
        ({'use': 'position.shaw:Shaw', 'reach': 0, 'head_width': 4}, 'reach must be at least 1'),
        ({'use': 'position.cope:CoPE', 'counts': 0, 'head_width': 4}, 'counts must be at least 1'),
        ({'use': 'position.transformer_xl:TransformerXL', 'width': 3, 'head_width': 4}, 'TransformerXL'),
        ({'use': 'position.transformer_xl:TransformerXL', 'width': 4, 'head_width': 0}, 'head_width must be'),
    ],
)
def test_settings_that_make_no_terms_are_refused(spec, message):
    with pytest.raises(UserError, match=message):
        build(spec)().init(jax.random.key(0), 3, method='terms')


@pytest.mark.parametrize(
    ('made', 'field', 'value'),
    [(Rotary, 'share', 0.0), (Rotary, 'share', 1.5), (XPos, 'gamma', 0.0), (XPos, 'unit', 0.0)],
)
def test_settings_that_turn_nothing_are_refused(made, field, value):
    with pytest.raises(UserError, match=rf'^saccade\.{made.__name__}\.{field} must be above 0'):
        made(**{field: value})


def test_no_position_changes_nothing():
    np.testing.assert_array_equal(NoPosition().apply({}, X, POSITIONS), X)
    for given, kept in zip(rotated(NoPosition(), HEADS, -HEADS, POSITIONS, POSITIONS), (HEADS, -HEADS), strict=True):
        np.testing.assert_array_equal(given, kept)
    assert NoPosition().terms(3) == ()


ROTATIONS = {
    'rotary': Rotary(base=50.0),
    'rotary, a share': Rotary(base=50.0, share=0.5),
    'rotary, neighbours': Rotary(base=50.0, pairing=Part(rotary.neighbours)),
    'rotary, yarn': Rotary(base=50.0, scaling=Part(rotary.yarn, (('context_length', 64), ('factor', 4.0)))),
    'rotary, highest': Rotary(base=50.0, scaling=Part(rotary.highest, (('share', 0.5),))),
    'xpos': XPos(base=50.0, unit=16.0),
}


@pytest.mark.parametrize('name', ROTATIONS)
def test_a_product_depends_on_the_difference_of_positions_alone(name):
    module = ROTATIONS[name]
    np.testing.assert_allclose(product(module, 9, 4), product(module, 5, 0), atol=NEAR)
    np.testing.assert_allclose(product(module, 4, 9), product(module, 0, 5), atol=NEAR)
    assert jnp.abs(product(module, 9, 4) - product(module, 4, 4)).max() > 0.01


@pytest.mark.parametrize('module', [Rotary(base=50.0), Rotary(base=50.0, share=0.5), Rotary2D(columns=3)])
def test_a_rotation_keeps_lengths(module):
    for turned in rotated(module, WIDE, WIDE, POSITIONS, 2 * POSITIONS):
        np.testing.assert_allclose(jnp.linalg.norm(turned, axis=-1), jnp.linalg.norm(WIDE, axis=-1), rtol=NEAR)


def test_a_rotation_turns_by_position_and_not_by_place():
    for module in (Rotary(), XPos(), Rotary2D(columns=3)):
        q, k = rotated(module, WIDE, WIDE, POSITIONS, POSITIONS)
        moved = rotated(module, WIDE[:, ::-1], WIDE[:, ::-1], POSITIONS[:, ::-1], POSITIONS[:, ::-1])
        np.testing.assert_array_equal(moved[0], q[:, ::-1])
        np.testing.assert_array_equal(moved[1], k[:, ::-1])
        np.testing.assert_array_equal(q[1, 1], WIDE[1, 1])


def test_a_share_leaves_the_other_features_as_they_are():
    q, _ = rotated(Rotary(share=0.5), WIDE, WIDE, POSITIONS, POSITIONS)
    np.testing.assert_array_equal(q[..., 4:], WIDE[..., 4:])
    alone, _ = rotated(Rotary(), WIDE[..., :4], WIDE[..., :4], POSITIONS, POSITIONS)
    np.testing.assert_array_equal(q[..., :4], alone)


@pytest.mark.long
def test_the_pairing_of_the_paper_is_its_equation():
    q, k = (
        np.asarray(rotated(Rotary(base=50.0, pairing=Part(rotary.neighbours)), WIDE, WIDE, POSITIONS, POSITIONS)[0]),
        WIDE,
    )
    for b, t, n in np.ndindex(B, T, 3):
        place, c = int(POSITIONS[b, t]), np.arange(4)
        waves = (k[b, t, n, 0::2] + 1j * k[b, t, n, 1::2]) * np.exp(1j * place * 50.0 ** (-c / 4))
        np.testing.assert_allclose(q[b, t, n], np.concatenate([waves.real, waves.imag]), atol=NEAR)


def test_xpos_shrinks_products_by_its_equation():
    """As complex numbers: the real part of q conj(k) z^((i - j)/u) e^(i (i - j) w)."""
    q, k = np.asarray(WIDE)[:, 0], np.asarray(WIDE)[:, 1]
    decay = (2 * np.arange(4) / 8 + 0.4) / 1.4
    for i, j in ((7, 7), (20, 3), (3, 9)):
        expected = (q[..., :4] + 1j * q[..., 4:]) * np.conj(k[..., :4] + 1j * k[..., 4:])
        expected *= decay ** ((i - j) / 16.0) * np.exp(1j * (i - j) * 50.0 ** (-np.arange(4) / 4))
        given = product(XPos(base=50.0, unit=16.0), i, j)
        np.testing.assert_allclose(given[:, 0], expected.sum(axis=-1).real, atol=NEAR)


def test_a_grid_product_depends_on_both_differences_alone():
    module, columns = Rotary2D(columns=5), 5

    def at(row, column):
        return row * columns + column

    np.testing.assert_allclose(product(module, at(4, 3), at(1, 2)), product(module, at(3, 1), at(0, 0)), atol=NEAR)
    # The same distance in tokens, another in the grid.
    assert jnp.abs(product(module, at(1, 0), at(0, 4)) - product(module, at(0, 1), at(0, 0))).max() > 0.01


def test_a_grid_turns_a_half_by_the_column_and_a_half_by_the_row():
    turned = np.asarray(rotated(Rotary2D(columns=3, base=7.0), WIDE, WIDE, POSITIONS, POSITIONS)[0])
    x = np.asarray(WIDE)
    for b, t, c in np.ndindex(B, T, 4):
        place = int(POSITIONS[b, t])
        angle = (place % 3 if c < 2 else place // 3) * 7.0 ** (-(c % 2) / 2)
        wave = (x[b, t, :, c] + 1j * x[b, t, :, c + 4]) * np.exp(1j * angle)
        np.testing.assert_allclose(turned[b, t, :, [c, c + 4]], [wave.real, wave.imag], atol=NEAR)


def test_a_sinusoid_moves_by_a_linear_map():
    """PE(p + k) = M(k) PE(p), with the same M for every p: section 3.5 of the paper."""
    waves = np.asarray(Sinusoid(base=100.0).apply({}, jnp.zeros((1, 40, D)), jnp.arange(40)[None]))[0]
    move, *_ = np.linalg.lstsq(waves[:20], waves[7:27], rcond=None)
    np.testing.assert_allclose(waves[20:33] @ move, waves[27:40], atol=1e-4)


@pytest.mark.parametrize(
    'use',
    [
        lambda: rotated(Rotary(), HEADS[..., :3], HEADS[..., :3], POSITIONS, POSITIONS),
        lambda: rotated(Rotary(share=0.6), HEADS[..., :5], HEADS[..., :5], POSITIONS, POSITIONS),
        lambda: rotated(XPos(), HEADS[..., :3], HEADS[..., :3], POSITIONS, POSITIONS),
        lambda: Sinusoid().apply({}, X[..., :3], POSITIONS),
    ],
)
def test_an_odd_width_is_refused(use):
    with pytest.raises(UserError, match='even'):
        use()


def one_sided(distance, count, furthest):
    """Bucket of a distance that is not negative, by the rule of T5."""
    exact = count // 2
    if distance < exact:
        return distance
    share = math.log(distance / exact) / math.log(furthest / exact)
    return min(exact + int(share * (count - exact)), count - 1)


@pytest.mark.parametrize(('count', 'furthest'), [(32, 128), (8, 20), (4, 100)])
def test_buckets_of_keys_before(count, furthest):
    distances = range(-150, 30)
    expected = [one_sided(max(0, -distance), count, furthest) for distance in distances]
    given = Buckets(count, furthest, both_sides=False)(jnp.array([distances]))
    np.testing.assert_array_equal(given, [expected])


def test_buckets_of_keys_on_both_sides():
    distances = range(-150, 150)
    expected = [(16 if distance > 0 else 0) + one_sided(abs(distance), 16, 128) for distance in distances]
    np.testing.assert_array_equal(Buckets(32, 128, both_sides=True)(jnp.array([distances])), [expected])


@pytest.mark.long
def test_relative_bias_has_a_value_for_each_bucket_and_head():
    module = RelativeBias(buckets=8, furthest=20)
    (term,), variables = module.init_with_output(jax.random.key(0), 3, method='terms')
    table = np.asarray(variables['params']['table'])
    assert table.shape == (8, 3)
    scores = term.change(jnp.zeros((B, 3, T, T)), Scoring(Full()).pairs(jnp.arange(T), jnp.arange(T)))
    expected = [[[table[max(0, i - j), n] for j in range(T)] for i in range(T)] for n in range(3)]
    np.testing.assert_array_equal(scores[0], expected)


@pytest.mark.parametrize('settings', [{'buckets': 1}, {'buckets': 3, 'both_sides': True}, {'furthest': 16}])
def test_buckets_that_cannot_be_made_are_refused(settings):
    with pytest.raises(UserError):
        RelativeBias(**settings).init(jax.random.key(0), 3, method='terms')
