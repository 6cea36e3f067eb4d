# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Spaces: which points they have, in which order, and what is no space."""

import math

import numpy as np
import pytest

from saccade.sweep.space import points
from saccade.types import UserError

HEADS = {'grid': {'heads': [1, 2]}}


def drawn(number=200, seed=0, **how):
    """The values of one random field, beside another that keeps the points different."""
    fields = {'x': how, 'other': {'integer': [0, 10**12]}}
    return [point['x'] for point in points({'random': fields, 'number': number, 'seed': seed})]


def test_a_grid_is_every_combination_with_the_last_field_fastest():
    assert points({'grid': {'layers': [2, 4], 'width': [64, 128], 'tied': [True]}}) == [
        {'layers': 2, 'width': 64, 'tied': True},
        {'layers': 2, 'width': 128, 'tied': True},
        {'layers': 4, 'width': 64, 'tied': True},
        {'layers': 4, 'width': 128, 'tied': True},
    ]


def test_a_zip_goes_side_by_side():
    assert points({'zip': {'layers': (2, 4), 'width': (128, 64)}}) == [
        {'layers': 2, 'width': 128},
        {'layers': 4, 'width': 64},
    ]


def test_a_list_is_as_written_and_the_empty_point_is_one():
    listed = [{}, {'name': 'deep', 'layers': 24}]
    assert points({'list': listed}) == listed


def test_a_chain_goes_one_after_another():
    assert points({'chain': [HEADS, {'list': [{}]}, {'grid': {'width': [8]}}]}) == [
        {'heads': 1},
        {'heads': 2},
        {},
        {'width': 8},
    ]


def test_a_product_is_each_with_each_the_last_fastest():
    assert points({'product': [HEADS, {'zip': {'layers': [2, 4], 'width': [8, 4]}}]}) == [
        {'heads': 1, 'layers': 2, 'width': 8},
        {'heads': 1, 'layers': 4, 'width': 4},
        {'heads': 2, 'layers': 2, 'width': 8},
        {'heads': 2, 'layers': 4, 'width': 4},
    ]


def test_names_of_a_product_are_joined():
    named = {'list': [{'name': 'deep', 'layers': 8}, {'layers': 2}]}
    sized = {'list': [{'name': 'wide', 'width': 64}]}
    assert [point['name'] for point in points({'product': [named, sized]})] == ['deep,wide', 'wide']
    assert 'name' not in points({'product': [HEADS, HEADS | {'grid': {'width': [1]}}]})[0]


def test_spaces_nest():
    nested = {'product': [{'chain': [HEADS, {'list': [{'heads': 8}]}]}, {'grid': {'width': [64, 128]}}]}
    assert [(point['heads'], point['width']) for point in points(nested)] == [
        *[(1, 64), (1, 128), (2, 64), (2, 128)],
        *[(8, 64), (8, 128)],
    ]


def test_an_array_is_a_list_of_plain_numbers():
    found = points({'grid': {'peak': np.array([0.5, 0.25])}})
    assert found == [{'peak': 0.5}, {'peak': 0.25}]
    assert {type(point['peak']) for point in found} == {float}


def test_random_points_depend_on_the_seed_alone():
    how = {'uniform': [0.0, 1.0]}
    assert drawn(**how) == drawn(**how)
    assert drawn(**how) != drawn(**how, seed=1)


@pytest.mark.parametrize(
    'how',
    [{'uniform': [0, 1]}, {'log_uniform': [1e-4, 1]}, {'integer': [0, 9]}, {'choice': ['a', 'b', 'c']}],
)
def test_more_draws_keep_the_earlier_ones(how):
    draws = {'x': how, 'y': {'integer': [0, 10**6]}}
    few, many = (points({'random': draws, 'number': number}) for number in (7, 40))
    assert many[: len(few)] == few
    assert len(many) == 40


@pytest.mark.parametrize('bounds', [[-1.0, 2.0], [0.12345678, 0.12345999], [3, 3]])
def test_uniform_draws_keep_to_their_bounds(bounds):
    values = drawn(uniform=bounds)
    assert all(bounds[0] <= value <= bounds[1] and isinstance(value, float) for value in values)


def test_a_uniform_draw_is_uniform():
    values = drawn(uniform=[-1.0, 3.0], number=2000)
    assert np.quantile(values, [0.25, 0.5, 0.75]) == pytest.approx([0, 1, 2], abs=0.15)


def test_a_log_uniform_draw_is_uniform_in_its_logarithm():
    values = drawn(log_uniform=[1e-4, 1.0], number=2000)
    assert all(1e-4 <= value <= 1 for value in values)
    assert np.quantile(np.log10(values), [0.25, 0.5, 0.75]) == pytest.approx([-3, -2, -1], abs=0.15)


def test_an_integer_draw_takes_both_bounds_and_all_between():
    values = drawn(integer=[2, 5])
    assert set(values) == {2, 3, 4, 5}
    assert {type(value) for value in values} == {int}


def test_a_choice_takes_every_value_parts_included():
    parts = [{'use': 'norm.rms:RMSNorm'}, {'use': 'norm.layer:LayerNorm'}, 3]
    values = drawn(choice=parts)
    assert len(values) == 200
    assert all(part in values for part in parts)


def test_a_drawn_number_is_short_enough_to_be_a_name():
    assert all(len(f'{value:g}') <= 6 and float(f'{value:.4g}') == value for value in drawn(uniform=[0.1, 0.9]))


def test_a_point_drawn_again_is_dropped():
    """Two coins land in four ways, however often they are thrown."""
    coin = {'choice': [0, 1]}
    found = points({'random': {'a': coin, 'b': coin}, 'number': 50})
    assert sorted((point['a'], point['b']) for point in found) == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize(
    ('space', 'words'),
    [
        ([1, 2], 'runs: a space is a dict with one of grid, zip, list, random, product, chain; this one has [1, 2]'),
        ({}, 'this one has none'),
        ({'gird': {}}, 'this one has gird'),
        ({'grid': {'a': [1]}, 'zip': {'a': [1]}}, 'this one has grid, zip'),
        ({'grid': {'a': [1]}, 'seeds': 3}, "grid has no 'seeds'; it has no other keys: seeds"),
        ({'random': {'a': {'uniform': [0, 1]}}, 'count': 3}, "random has no 'count'; it has number, seed"),
        ({'grid': {}}, 'runs.grid: it is empty'),
        ({'zip': {}}, 'runs.zip: it is empty'),
        ({'list': []}, 'runs.list: it is empty'),
        ({'product': []}, 'runs.product: it is empty'),
        ({'chain': []}, 'runs.chain: it is empty'),
        ({'random': {}, 'number': 2}, 'runs.random: it is empty'),
        ({'grid': {'a': [1], 'b': []}}, 'runs.grid.b: it is empty'),
        ({'zip': {'a': [], 'b': []}}, 'runs.zip.a: it is empty'),
        ({'chain': [HEADS, {'grid': {}}]}, 'runs.chain[1].grid: it is empty'),
        ({'product': [{'chain': [{'zip': {}}]}]}, 'runs.product[0].chain[0].zip: it is empty'),
        ({'grid': [1]}, 'runs.grid: write a dict of fields and their values, not [1]'),
        ({'grid': {'a': 3}}, 'runs.grid.a: write a list, not 3'),
        ({'grid': {'a': 'abc'}}, "runs.grid.a: write a list, not 'abc'"),
        ({'grid': {3: [1]}}, "runs.grid: a field is text, as in 'model.width', not 3"),
        ({'list': [{3: 1}]}, 'runs.list: a field is text'),
        ({'random': {3: {'uniform': [0, 1]}}, 'number': 1}, 'runs.random: a field is text'),
        ({'zip': {'a': [1, 2], 'b': [1]}}, 'needs equally many values'),
        ({'list': [{}, 3]}, 'runs.list: a point is a dict of fields and values, not 3'),
        ({'list': [{'name': 3}]}, 'runs.list: a name is text, not 3'),
        ({'product': [HEADS, {'list': [{'heads': 3}]}]}, 'runs.product: heads is in two of its spaces'),
        ({'random': {'a': {'uniform': [0, 1]}}}, 'give the number of points to draw'),
        ({'random': {'a': {'uniform': [0, 1]}}, 'number': 0}, 'give the number of points to draw'),
        ({'random': {'a': {'uniform': [0, 1]}}, 'number': 2.5}, 'give the number of points to draw'),
        ({'random': {'a': {'uniform': [0, 1]}}, 'number': 2, 'seed': -1}, 'its seed must be a whole number, not -1'),
        ({'random': [1], 'number': 2}, 'runs.random: write a dict of fields and their distributions'),
        ({'random': {'a': [0, 1]}, 'number': 2}, 'runs.random.a: write a distribution'),
        ({'random': {'a': {'normal': [0, 1]}}, 'number': 2}, 'there are uniform, log_uniform, integer, choice'),
        ({'random': {'a': {'uniform': [1, 0]}}, 'number': 2}, 'a.uniform: needs two bounds, the lower first'),
        ({'random': {'a': {'uniform': [1]}}, 'number': 2}, 'a.uniform: needs two bounds'),
        ({'random': {'a': {'uniform': ['0', '1']}}, 'number': 2}, 'a.uniform: needs two bounds'),
        ({'random': {'a': {'uniform': [0, math.inf]}}, 'number': 2}, 'a.uniform: needs two bounds'),
        ({'random': {'a': {'uniform': [math.nan, 1]}}, 'number': 2}, 'a.uniform: needs two bounds'),
        ({'random': {'a': {'log_uniform': [0, 1]}}, 'number': 2}, 'a.log_uniform: needs two bounds, both positive'),
        ({'random': {'a': {'integer': [0.5, 3]}}, 'number': 2}, 'a.integer: needs two bounds, both whole'),
        ({'random': {'a': {'choice': []}}, 'number': 2}, 'a.choice: needs at least one value'),
    ],
)  # fmt: skip
def test_what_is_no_space_is_refused_in_a_line_that_says_where(space, words):
    with pytest.raises(UserError) as refusal:
        points(space)
    assert words in str(refusal.value)
    assert str(refusal.value).startswith('runs')
    assert '\n' not in str(refusal.value)
