# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masks against loops over pairs; and `live`, which may never hide a pair that may attend."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.mask import Both, Causal, Either, Full, Given, SameSegment, Window

T, S = 9, 11
Q_SEGMENTS = np.array([[0, 0, 1, 1, 1, 2, 2, 2, 0], [1, 1, 1, 1, 3, 3, 3, 3, 3]])
K_SEGMENTS = np.array([[0, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0], [1, 1, 3, 3, 3, 3, 3, 3, 0, 0, 3]])
SEGMENTS = SameSegment(jnp.array(Q_SEGMENTS), jnp.array(K_SEGMENTS))


def within(left, right):
    return lambda b, i, j: i - left <= j <= i + right


def same_segment(b, i, j):
    return Q_SEGMENTS[b, i] == K_SEGMENTS[b, j] != 0


RULES = {
    'full': (Full(), lambda b, i, j: True),
    'causal': (Causal(), lambda b, i, j: j <= i),
    'window': (Window(2), within(2, 0)),
    'two-sided window': (Window(3, 1), within(3, 1)),
    'segments': (SEGMENTS, same_segment),
    'both': (Causal() & Window(4, 2), lambda b, i, j: j <= i and within(4, 2)(b, i, j)),
    'either': (Window(1) | Window(0, 3), lambda b, i, j: within(1, 0)(b, i, j) or within(0, 3)(b, i, j)),
    'nested': (
        (Causal() | Window(0, 1)) & SEGMENTS,
        lambda b, i, j: (j <= i or within(0, 1)(b, i, j)) and same_segment(b, i, j),
    ),
}


def table(mask, q=range(T), k=range(S)) -> np.ndarray:
    allowed = np.asarray(mask(jnp.array(q, int), jnp.array(k, int)))
    return np.broadcast_to(allowed, (2, len(q), len(k)))


@pytest.fixture(params=RULES)
def rule(request):
    return RULES[request.param]


def test_mask_is_its_rule(rule):
    mask, allowed = rule
    expected = [[[allowed(b, i, j) for j in range(S)] for i in range(T)] for b in range(2)]
    np.testing.assert_array_equal(table(mask), expected)


def test_a_block_is_the_part_of_the_whole(rule):
    mask, _ = rule
    np.testing.assert_array_equal(table(mask, range(2, 7), range(5, 9)), table(mask)[:, 2:7, 5:9])


def test_live_is_never_false_where_the_mask_allows_a_pair(rule):
    mask, _ = rule
    whole, random = table(mask), np.random.default_rng(0)
    for _ in range(300):
        q0, q1 = sorted(random.choice(T + 1, 2, replace=False))
        k0, k1 = sorted(random.choice(S + 1, 2, replace=False))
        assert mask.live(range(q0, q1), range(k0, k1)) or not whole[:, q0:q1, k0:k1].any()


@pytest.mark.parametrize('name', ['causal', 'window', 'two-sided window'])
def test_live_is_false_wherever_nothing_may_attend(name):
    mask, _ = RULES[name]
    whole, random = table(mask), np.random.default_rng(1)
    for _ in range(300):
        q0, q1 = sorted(random.choice(T + 1, 2, replace=False))
        k0, k1 = sorted(random.choice(S + 1, 2, replace=False))
        assert mask.live(range(q0, q1), range(k0, k1)) == whole[:, q0:q1, k0:k1].any()


@pytest.mark.parametrize('mask', [Full(), Causal(), Window(3)])
def test_nothing_is_live_in_an_empty_range(mask):
    assert not mask.live(range(3, 3), range(4))
    assert not mask.live(range(4), range(3, 3))


def test_live_combines_as_the_masks_do():
    near, far = (range(4), range(4)), (range(8, 12), range(4))
    assert not (Causal() & Window(2)).live(*far)
    assert (Causal() | Window(2)).live(*far)
    assert (Causal() & Window(2)).live(*near)


def test_masks_take_positions_by_row():
    q, k = jnp.array([[5, 6], [0, 1]]), jnp.array([[4, 5, 6], [0, 1, 2]])
    np.testing.assert_array_equal(
        Causal()(q, k), [[[1, 1, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]]]
    )  # fmt: skip
    assert Full()(q, k).shape == (2, 2, 3)
    assert Window(0)(q, k).sum() == 4


def test_a_given_mask_is_what_was_given():
    allowed = jnp.array([[[True, False]]])
    np.testing.assert_array_equal(Given(allowed)(jnp.arange(1), jnp.arange(2)), allowed)


def test_a_mask_is_a_pytree_whose_shape_parameters_are_static():
    leaves, structure = jax.tree.flatten(Both(Window(3), Either(Causal(), SEGMENTS)))
    assert len(leaves) == 2
    assert structure != jax.tree.structure(Both(Window(4), Either(Causal(), SEGMENTS)))
