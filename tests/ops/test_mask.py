# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masks against loops over pairs; and `live`, which may never hide a pair that may attend."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.multi_head import visible
from saccade.ops.mask import (
    Both,
    Causal,
    CausalAfterPrefix,
    Chunked,
    ChunkedWithMemory,
    Either,
    Full,
    Global,
    PrecomputedMask,
    Prefix,
    RandomBlocks,
    SameSegment,
    Strided,
    Summary,
    Window,
)
from saccade.ops.pattern import big_bird, dilated_window, longformer, prefix_lm, sparse_fixed, sparse_strided
from saccade.ops.scoring import Scoring
from saccade.types import LayerContext, Source, UserError

T, S = 9, 11
Q_SEGMENTS = np.array([[0, 0, 1, 1, 1, 2, 2, 2, 0], [1, 1, 1, 1, 3, 3, 3, 3, 3]])
K_SEGMENTS = np.array([[0, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0], [1, 1, 3, 3, 3, 3, 3, 3, 0, 0, 3]])
SEGMENTS = SameSegment(jnp.array(Q_SEGMENTS), jnp.array(K_SEGMENTS))


def within(left, right):
    return lambda b, i, j: i - left <= j <= i + right


def same_segment(b, i, j):
    return Q_SEGMENTS[b, i] == K_SEGMENTS[b, j] != 0


RANDOM = RandomBlocks(size=2, count=1, length=12, seed=3)
DRAWN = np.asarray(RANDOM(jnp.arange(12), jnp.arange(12)))


def fixed(b, i, j):
    return j <= i and (i // 4 == j // 4 or j % 4 >= 3)


RULES = {
    'full': (Full(), lambda b, i, j: True),
    'causal': (Causal(), lambda b, i, j: j <= i),
    'window': (Window(2), within(2, 0)),
    'two-sided window': (Window(3, 1), within(3, 1)),
    'segments': (SEGMENTS, same_segment),
    'both': (Causal() & Window(4, 2), lambda b, i, j: j <= i and within(4, 2)(b, i, j)),
    'either': (Window(1) | Window(0, 3), lambda b, i, j: within(1, 0)(b, i, j) or within(0, 3)(b, i, j)),
    'chunked': (Chunked(3), lambda b, i, j: i // 3 == j // 3),
    'chunked with memory': (ChunkedWithMemory(4, 2), lambda b, i, j: i // 4 * 4 - 2 <= j),
    'strided': (Strided(3), lambda b, i, j: abs(i - j) % 3 == 0),
    'summary': (Summary(4, 2), lambda b, i, j: j % 4 in (2, 3)),
    'prefix': (Prefix(4), lambda b, i, j: j < 4),
    'global': (Global(2), lambda b, i, j: i < 2 or j < 2),
    'random blocks': (RANDOM, lambda b, i, j: DRAWN[i, j]),
    'dilated window': (dilated_window(2, 1, 3), lambda b, i, j: j - i in (-6, -3, 0, 3)),
    'longformer': (longformer(2, 2, 1), lambda b, i, j: within(2, 2)(b, i, j) or i == 0 or j == 0),
    'causal longformer': (
        Causal() & longformer(2, 0, 1),
        lambda b, i, j: j <= i and (within(2, 0)(b, i, j) or i == 0 or j == 0),
    ),
    'big bird': (
        big_bird(1, 1, size=2, count=1, length=12, seed=3),
        lambda b, i, j: within(1, 1)(b, i, j) or i == 0 or j == 0 or DRAWN[i, j],
    ),
    'sparse, strided': (sparse_strided(3), lambda b, i, j: j <= i and (i - j <= 3 or (i - j) % 3 == 0)),
    'sparse, fixed': (sparse_fixed(4, 1), fixed),
    'prefix LM': (prefix_lm(4), lambda b, i, j: j <= i or j < 4),
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


def test_no_query_looks_further_ahead_than_its_mask_says(rule):
    mask, _ = rule
    _, query, key = np.nonzero(table(mask))
    assert mask.lookahead is None or (key - query).max() <= mask.lookahead


def test_masks_that_look_ahead_no_token_are_known_to_be_causal():
    causal = {name for name, (mask, _) in RULES.items() if not np.triu(table(mask)[:, :, :T], 1).any()}
    causal -= {'random blocks'}  # those of this seed are before the query's by chance
    assert {name for name, (mask, _) in RULES.items() if mask.lookahead == 0} == causal
    assert CausalAfterPrefix().lookahead == RandomBlocks(size=2, count=1, length=12, seed=3, before=True).lookahead == 0


def test_live_is_never_false_where_the_mask_allows_a_pair(rule):
    mask, _ = rule
    whole, random = table(mask), np.random.default_rng(0)
    for _ in range(300):
        q0, q1 = sorted(random.choice(T + 1, 2, replace=False))
        k0, k1 = sorted(random.choice(S + 1, 2, replace=False))
        assert mask.live(range(q0, q1), range(k0, k1)) or not whole[:, q0:q1, k0:k1].any()


@pytest.mark.parametrize(
    'name',
    [
        'causal',
        'window',
        'two-sided window',
        'chunked',
        'chunked with memory',
        'strided',
        'summary',
        'prefix',
        'global',
        'random blocks',
        'longformer',
        'big bird',
        'prefix LM',
    ],
)
def test_live_is_false_wherever_nothing_may_attend(name):
    mask, _ = RULES[name]
    whole, random = table(mask), np.random.default_rng(1)
    for _ in range(300):
        q0, q1 = sorted(random.choice(T + 1, 2, replace=False))
        k0, k1 = sorted(random.choice(S + 1, 2, replace=False))
        assert mask.live(range(q0, q1), range(k0, k1)) == whole[:, q0:q1, k0:k1].any()


@pytest.mark.parametrize('size', [1, 2, 3])
@pytest.mark.parametrize('name', ['causal longformer', 'dilated window', 'sparse, strided', 'sparse, fixed'])
def test_live_is_false_of_every_empty_block_of_a_grid(name, size):
    """What two masks leave together is known for blocks of as many queries as keys."""
    mask, _ = RULES[name]
    whole = table(mask)
    starts = range(0, T, size)
    blocks = [(range(i, min(i + size, T)), range(j, min(j + size, T))) for i in starts for j in starts]
    for q, k in blocks:
        assert mask.live(q, k) == whole[:, q.start : q.stop, k.start : k.stop].any()
    assert not all(mask.live(q, k) for q, k in blocks)


@pytest.mark.long
def test_random_blocks_are_as_many_as_asked_for_and_the_same_again():
    allowed = np.asarray(RandomBlocks(4, 2, 40, seed=1)(jnp.arange(40), jnp.arange(40)))
    blocks = allowed[::4, ::4]
    np.testing.assert_array_equal(allowed, blocks.repeat(4, axis=0).repeat(4, axis=1))
    np.testing.assert_array_equal(blocks.sum(axis=1), 2)
    assert not blocks.diagonal().any()
    again, other = (np.asarray(RandomBlocks(4, 2, 40, seed)(jnp.arange(40), jnp.arange(40))) for seed in (1, 2))
    np.testing.assert_array_equal(again, allowed)
    assert (other != allowed).any()


@pytest.mark.long
def test_random_blocks_before_the_query_do_not_hang_on_the_length():
    short, long = (RandomBlocks(4, 2, length, seed=1, before=True) for length in (20, 40))
    allowed = np.asarray(long(jnp.arange(40), jnp.arange(40)))
    np.testing.assert_array_equal(allowed[:20, :20], short(jnp.arange(20), jnp.arange(20)))
    np.testing.assert_array_equal(allowed[::4, ::4].sum(axis=1), [0, 1, *8 * [2]])
    assert not np.triu(allowed).any()
    assert not short(jnp.arange(20, 24), jnp.arange(20)).any()


@pytest.mark.parametrize(
    'make',
    [
        lambda: Chunked(0),
        lambda: ChunkedWithMemory(0, 2),
        lambda: ChunkedWithMemory(4, -1),
        lambda: Strided(0),
        lambda: Summary(3, 4),
        lambda: Summary(3, 0),
        lambda: RandomBlocks(0, 1, 8, 0),
        lambda: dilated_window(1, 1, 0),
    ],
)
def test_a_mask_that_cannot_be_made_is_refused(make):
    with pytest.raises(UserError, match=r'ops\.(mask|pattern):'):
        make()


PACKED = np.array([[1, 1, 1, 2, 2, 2, 2, 2, 2, 0, 0], [0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]])


def starts_anew(segments):
    """The place of each token within its segment."""
    same = (segments[:, :, None] == segments[:, None, :]) & (np.arange(S)[:, None] > np.arange(S))
    return same.sum(axis=-1) * (segments != 0)


def in_segments(mask, context):
    return visible(Scoring(mask), context).mask


@pytest.mark.parametrize('name', [name for name in RULES if name not in ('segments', 'nested')])
def test_within_segments_a_mask_counts_from_the_start_of_each(name):
    mask, allowed = RULES[name]
    places = starts_anew(PACKED)
    inside = in_segments(mask, LayerContext(jnp.array(places), jnp.array(PACKED)))
    whole = table(inside, range(S), range(S))
    expected = [
        [
            [
                bool(PACKED[b, i] == PACKED[b, j] != 0 and allowed(b, places[b, i], places[b, j])) for j in range(S)
            ]
            for i in range(S)
        ]
        for b in range(2)
    ]  # fmt: skip
    np.testing.assert_array_equal(whole, expected)
    random = np.random.default_rng(0)
    for _ in range(200):
        q0, q1 = sorted(random.choice(S + 1, 2, replace=False))
        k0, k1 = sorted(random.choice(S + 1, 2, replace=False))
        assert inside.live(range(q0, q1), range(k0, k1)) or not whole[:, q0:q1, k0:k1].any()


@pytest.mark.parametrize('mask', [Chunked(3), Causal() & Chunked(3), prefix_lm(2), sparse_strided(3) & Window(4)])
def test_far_blocks_of_packed_rows_are_known_to_be_empty(mask):
    inside = in_segments(mask, LayerContext(jnp.array(starts_anew(PACKED)), jnp.array(PACKED)))
    assert not inside.live(range(2), range(8, 11))


def test_in_cross_attention_each_side_counts_its_own():
    source = Source(jnp.zeros((2, S, 1)), jnp.array(starts_anew(PACKED)), jnp.array(PACKED))
    segments = np.array([[2, 2, 1, 1], [1, 1, 1, 1]])
    places = np.array([[0, 1, 0, 1], [0, 1, 2, 3]])
    inside = in_segments(Causal(), LayerContext(jnp.array(places), jnp.array(segments), source))
    whole = table(inside, range(4), range(S))
    for b, i, j in np.ndindex(2, 4, S):
        assert whole[b, i, j] == (segments[b, i] == PACKED[b, j] and starts_anew(PACKED)[b, j] <= places[b, i])
    assert inside.live(range(2), range(8, 11))


def test_rows_of_one_segment_keep_their_mask():
    mask = Chunked(3)
    assert in_segments(mask, LayerContext(jnp.arange(S)[None])) is mask


@pytest.mark.parametrize('mask', [mask for mask, _ in RULES.values()])
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
    np.testing.assert_array_equal(PrecomputedMask(allowed)(jnp.arange(1), jnp.arange(2)), allowed)


def test_a_mask_is_a_pytree_whose_shape_parameters_are_static():
    leaves, structure = jax.tree.flatten(Both(Window(3), Either(Causal(), SEGMENTS)))
    assert len(leaves) == 2
    assert structure != jax.tree.structure(Both(Window(4), Either(Causal(), SEGMENTS)))


def test_after_a_prefix_of_its_own_a_row_is_causal():
    counts = np.array([0, 4])
    mask = CausalAfterPrefix().of(LayerContext(jnp.zeros((2, T), int), prefix=jnp.array(counts)))
    expected = [[[j <= i or j < count for j in range(S)] for i in range(T)] for count in counts]
    np.testing.assert_array_equal(table(mask), expected)
    np.testing.assert_array_equal(table(mask, range(2, 7), range(5, 9)), table(mask)[:, 2:7, 5:9])
    assert mask.live(range(2), range(8, 11))


def test_the_prefix_is_counted_by_positions_and_padding_is_none_of_it():
    places, segments = np.array([[0, 0, 0, 1, 2, 3]]), np.array([[0, 0, 1, 1, 1, 1]])
    context = LayerContext(jnp.array(places), jnp.array(segments), prefix=jnp.array([2]))
    inside = np.asarray(in_segments(CausalAfterPrefix().of(context), context)(jnp.arange(6), jnp.arange(6)))[0]
    for i, j in np.ndindex(6, 6):
        assert inside[i, j] == (i > 1 and j > 1 and (j <= i or j < 4))


def test_without_a_prefix_a_row_is_causal():
    given, bare = LayerContext(jnp.zeros((2, T), int), prefix=jnp.array([3, 3])), LayerContext(jnp.zeros((2, T), int))
    assert isinstance(CausalAfterPrefix().of(bare), Causal)
    np.testing.assert_array_equal(table(CausalAfterPrefix()), table(Causal()))
    assert Window(2).of(given) == Window(2)
    for mask, plain in (
        (CausalAfterPrefix() & Window(2, 9), Causal() & Window(2, 9)),
        (Window(1) | CausalAfterPrefix(),) * 2,
    ):
        np.testing.assert_array_equal(table(mask.of(bare)), table(plain))
        assert (table(mask.of(given)) != table(mask.of(bare))).any()


def test_segments_and_positions_of_numpy_are_looked_up_within_a_program():
    segments, positions = np.array([[1, 1, 2, 2]]), np.array([[0, 1, 0, 1]])
    mask = in_segments(Chunked(1), LayerContext(positions, segments))
    assert jax.jit(lambda index: mask(index, index))(jnp.arange(4)).tolist() == [np.eye(4, dtype=bool).tolist()]
