# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Measures of heads in closed form: heads are built, and their numbers are known."""

import dataclasses
import math

import numpy as np
import pytest

from saccade.inside.maps import AttentionMap
from saccade.inside.measures import agreement, chance, distance, entropy, of_head, rollout, weight_on
from saccade.types import UserError

ONE_TEXT = ('the', 'cat', 'saw', 'the', 'cat')


def one_hot(keys, S=None):
    """A head that attends to one key per query."""
    return np.eye(S or len(keys), dtype=np.float32)[list(keys)]


def uniform(T):
    return np.full((T, T), 1 / T, np.float32)


def causal(T):
    return np.tril(np.ones((T, T), np.float32)) / np.arange(1, T + 1, dtype=np.float32)[:, None]


def of(heads, labels=ONE_TEXT, name='layers.0.mixer', **more):
    return AttentionMap(name, np.stack([*heads]).astype(np.float32), tuple(labels), tuple(labels), **more)


def measured(heads, labels=ONE_TEXT, **more):
    return {name: values.tolist() for name, values in of_head(of(heads, labels, **more)).items()}


def test_built_heads_have_the_score_of_what_they_do():
    built = {
        'itself': one_hot(range(5)),
        'previous': one_hot([0, 0, 1, 2, 3]),
        'duplicate': one_hot([0, 0, 0, 0, 1]),
        'induction': one_hot([0, 0, 0, 1, 2]),
    }
    found = of_head(of(built.values()))
    for number, name in enumerate(built):
        assert found[name][number] == 1.0
    assert found['entropy'].tolist() == [0, 0, 0, 0]
    # Queries 3 and 4 are the only ones with an earlier occurrence, and query 0 has no token before it.
    np.testing.assert_allclose(found['induction'], [0, 0, 0, 1])
    np.testing.assert_allclose(found['duplicate'], [0, 0, 1, 0])
    np.testing.assert_allclose(found['previous'], [0, 1, 1 / 4, 1 / 4])
    np.testing.assert_allclose(found['itself'], [1, 1 / 5, 1 / 5, 1 / 5])
    np.testing.assert_allclose(found['distance'], [0, 4 / 5, (1 + 2 + 3 + 3) / 5, (1 + 2 + 2 + 2) / 5])


@pytest.mark.parametrize('S', [1, 2, 7, 64])
def test_uniform_weights_have_the_highest_entropy(S):
    assert entropy(uniform(S)[None]) == pytest.approx(math.log(S), abs=1e-6)
    assert distance(uniform(S)[None]) == pytest.approx((S * S - 1) / (3 * S), rel=1e-6)


def test_a_causal_uniform_head():
    found = measured([causal(5)])
    assert found['entropy'][0] == pytest.approx(sum(map(math.log, range(1, 6))) / 5)
    assert found['itself'][0] == pytest.approx(sum(1 / n for n in range(1, 6)) / 5)
    assert found['previous'][0] == pytest.approx(sum(1 / n for n in range(2, 6)) / 4)
    assert found['duplicate'][0] == found['induction'][0] == pytest.approx((1 / 4 + 1 / 5) / 2)


def test_induction_counts_every_earlier_occurrence_and_the_token_itself_after_a_repeat():
    found = measured([uniform(4)], 'aaba')
    # 'a' at 1 follows 'a' at 0: token 1 itself. 'a' at 3 follows those at 0 and 1: tokens 1 and 2.
    assert found['induction'][0] == pytest.approx((1 / 4 + 2 / 4) / 2)
    assert found['duplicate'][0] == pytest.approx((1 / 4 + 2 / 4) / 2)


def test_a_text_without_repeats_and_separators_has_only_the_measures_that_apply():
    assert set(measured([uniform(3)], 'abc')) == {'entropy', 'distance', 'itself', 'previous'}
    assert set(measured([uniform(1)], 'a')) == {'entropy', 'distance', 'itself'}


@pytest.mark.parametrize(
    'label',
    [
        *('[CLS]', '[SEP]', '[PAD]', '<s>', '</s>', '<pad>', '<bos>', '<eos>'),
        *('<|endoftext|>', '<|im_start|>', '<start_of_turn>', '<\uff5cend\u2581of\u2581sentence\uff5c>'),
    ],
)
def test_separators(label):
    assert measured([one_hot([1, 1, 1])], ('a', label, 'b'))['separators'] == [1.0]


@pytest.mark.parametrize('label', ['[MASK]', '[UNK]', '<mask>', '<extra_id_0>', 's', '[', '|'])
def test_other_tokens_are_no_separators(label):
    assert 'separators' not in measured([one_hot([1, 1, 1])], ('a', label, 'b'))


@pytest.mark.parametrize('label', ['.', ',', '\u0120,', '\u2581...', '\N{OPEN BOX}(', '##!', '\u3002'])
def test_punctuation(label):
    assert measured([one_hot([1, 1, 0])], ('a', label, 'b'))['punctuation'] == [pytest.approx(2 / 3)]


@pytest.mark.parametrize('label', ['a.', '##s', '+', '', ' ', '\u0120'])
def test_words_and_spaces_are_no_punctuation(label):
    assert 'punctuation' not in measured([one_hot([1, 1, 0])], ('a', label, 'b'))


def test_queries_before_the_first_separator_of_a_causal_text_do_not_count():
    assert measured([one_hot([0, 0, 2, 2])], ('a', 'b', '[SEP]', 'c'))['separators'] == [1.0]
    both_ways = one_hot([3, 0, 2, 2])
    assert measured([both_ways], ('a', 'b', '[SEP]', 'c'))['separators'] == [0.5]


def test_implied_weights_count_by_magnitude():
    signs = np.where(np.eye(5), 1, -1)
    unequal = causal(5) * np.arange(1, 6)[:, None]  # sums are not one
    for name, values in measured([causal(5)]).items():
        np.testing.assert_allclose(values, measured([unequal * signs])[name], rtol=1e-6)


def test_a_query_without_allowed_keys_does_not_count():
    alike, own = causal(4), np.eye(4)
    first, last = one_hot([0, 0, 0, 0]), one_hot([3, 3, 3, 3])
    batch = np.stack([alike, own, first, last])[None]
    batch[:, :, 3] = 0.0
    means = [sum(map(math.log, (1, 2, 3))) / 3, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(entropy(batch), means, atol=1e-6)
    np.testing.assert_allclose(distance(batch), [0.5, 0, 1, 2], rtol=1e-6)
    np.testing.assert_allclose(weight_on(batch, np.eye(4, dtype=bool)), [(1 + 1 / 2 + 1 / 3) / 3, 1, 1 / 3, 0])
    assert np.isnan(entropy(np.zeros((1, 2, 2)))).all()


def test_a_mean_is_over_all_queries_of_all_rows():
    rows = np.stack([np.stack([np.eye(4)]), np.stack([one_hot([0, 0, 0, 0])])])
    rows[1, 0, 1:] = 0.0  # one query is left in the second row, and it attends to itself
    there = np.stack([np.zeros((4, 4), bool), np.eye(4, dtype=bool)])
    assert distance(rows).tolist() == [0.0]
    assert weight_on(rows, there).tolist() == [1.0]


def test_cross_attention_has_only_an_entropy():
    weights = np.full((2, 3, 4), 1 / 4, np.float32)
    found = of_head(AttentionMap('decoder.layers.0.cross', weights, tuple('abc'), tuple('efgh')))
    assert set(found) == {'entropy'}
    np.testing.assert_allclose(found['entropy'], math.log(4), rtol=1e-6)
    assert set(measured([uniform(3)], 'abc', name='decoder.layers.0.cross')) == {'entropy'}  # a copied text


def test_the_distance_in_an_image_is_that_of_its_patches():
    labels = ('[CLS]', *(f'{row},{column}' for row in range(2) for column in range(2)))
    across = one_hot([0, 4, 3, 2, 1])  # each patch attends to the opposite corner
    found = measured([across, one_hot([0, 0, 0, 0, 1])], labels, grid=(2, 2))
    assert set(found) == {'entropy', 'distance', 'itself', 'separators'}
    np.testing.assert_allclose(found['distance'], [math.sqrt(2), math.sqrt(2)])  # only the last patch of the second
    np.testing.assert_allclose(found['separators'], [1 / 5, 4 / 5])


def test_rollout_is_the_product_of_the_layers_with_their_residual_connections():
    T = 4
    halves = (causal(T) + np.eye(T)) / 2
    flow = rollout([of([causal(T)], 'abcd'), of([causal(T)], 'abcd'), of([np.eye(T), one_hot([1] * T)], 'abcd')])
    last = (np.eye(T) * 3 + one_hot([1] * T)) / 4  # mean of the two heads, and the identity
    np.testing.assert_allclose(flow, [halves, halves @ halves, last @ halves @ halves], rtol=1e-6)
    np.testing.assert_allclose(flow.sum(-1), 1.0, rtol=1e-6)


def test_rollout_of_heads_that_keep_every_token_is_the_identity_even_where_nothing_is_allowed():
    kept = np.eye(3)
    kept[2] = 0.0
    np.testing.assert_array_equal(rollout([of([kept], 'abc')] * 3), [np.eye(3)] * 3)


@pytest.mark.parametrize(
    ('layers', 'message'),
    [
        ([], 'rollout: there are no layers'),
        (['layers.0.mixer', 'layers.0.cross'], 'rollout: layers.0.cross is not self-attention of the tokens of layers'),
    ],
)
def test_rollout_of_anything_else_is_refused(layers, message):
    with pytest.raises(UserError, match=message):
        rollout([of([uniform(3)], 'abc', name=name) for name in layers])


COREFERENCE = ('[CLS]', 'the', 'animal', 'did', 'not', 'cross', 'the', 'street', 'because', 'it', 'was', '[SEP]')
IT, ANIMAL, STREET = 9, 2, 7


def test_a_built_head_of_coreference_agrees_with_its_pairs_and_a_uniform_one_by_chance():
    right, wrong = (uniform(12) for _ in range(2))
    right[IT, ANIMAL], wrong[IT, STREET] = 0.5, 0.5
    to_itself = one_hot(range(12)) + 0.01 * right  # the candidates are other words
    to_separator = one_hot([11] * 12) + 0.01 * right
    found = of([right, wrong, uniform(12), to_itself, to_separator], COREFERENCE)
    pairs = [(IT, ANIMAL)]
    np.testing.assert_allclose(agreement(found, pairs), [1, 0, 1 / 9, 1, 1])
    assert chance(found, pairs) == pytest.approx(1 / 9)  # 12 tokens less [CLS], [SEP] and the pronoun
    np.testing.assert_array_equal(of_head(found, pairs)['agreement'], agreement(found, pairs))
    assert 'agreement' not in of_head(found)


def test_in_a_causal_map_only_earlier_words_are_candidates():
    found = of([causal(12)], COREFERENCE)
    pairs = [(IT, ANIMAL), (ANIMAL, 1)]
    assert chance(found, pairs) == pytest.approx((1 / 8 + 1) / 2)
    np.testing.assert_allclose(agreement(found, pairs), [(1 / 8 + 1) / 2])


def test_in_cross_attention_a_query_has_no_place_among_the_keys():
    weights = one_hot([0, 1, 1, 2], 3)[None]
    found = AttentionMap('decoder.layers.0.cross', weights, tuple('wxyz'), ('a', 'b', '</s>'))
    assert agreement(found, [(0, 0), (1, 1), (2, 0)]).tolist() == [pytest.approx(2 / 3)]
    assert chance(found, [(0, 0)]) == 0.5


@pytest.mark.parametrize(
    ('pairs', 'message'),
    [
        ([], 'agreement: there are no pairs'),
        ([(IT, 12)], r'pair \(9, 12\): layers.0.mixer has 12 queries and 12 keys, from 0'),
        ([(-1, 2)], r'pair \(-1, 2\): layers.0.mixer has 12 queries'),
        ([(IT, IT)], "pair .9, 9.: 'it' cannot choose 'it': it is the query itself"),
        ([(IT, 0)], r"'it' cannot choose '\[CLS\]'"),
        ([(ANIMAL, STREET)], "'animal' cannot choose 'street'"),
    ],
)
def test_a_pair_that_no_head_could_match_is_refused(pairs, message):
    for ask in (agreement, chance):
        with pytest.raises(UserError, match=message):
            ask(of([causal(12)], COREFERENCE), pairs)


def test_maps_are_left_as_they_are():
    found = of([causal(5)])
    before = found.weights.copy()
    of_head(found, [(4, 1)])
    rollout([found, dataclasses.replace(found, name='layers.1.mixer')])
    np.testing.assert_array_equal(found.weights, before)
