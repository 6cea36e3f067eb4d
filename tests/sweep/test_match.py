# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Matching: fields solved so that a figure agrees, on figures that are formulas."""

import pytest

from saccade.sweep.match import TOLERANCE, Match
from saccade.types import UserError


def decoder(width=192, ratio=4.0, layers=4):
    """Parameters of a model, more or less, at values that the fields do not override."""

    def measure(settings):
        D, R = settings.get('width', width), settings.get('ratio', ratio)
        return layers * (4 * D * D + 2 * D * round(R * D)) + 512 * D

    return measure


def solve(measure, target, start, **by):
    return Match('parameters', by).solve(measure, start, target)


def is_matched(measure, settings, target):
    return abs(measure(settings) / target - 1) <= TOLERANCE


@pytest.mark.parametrize('layers', [1, 2, 3, 6, 12, 40])
@pytest.mark.parametrize('start', [8, 192, 4096])
def test_one_field_is_solved_from_wherever_it_begins(layers, start):
    measure, target = decoder(layers=layers), decoder()({'width': 192})
    settings = solve(measure, target, {'width': start}, width=1)
    assert is_matched(measure, settings, target)
    assert isinstance(settings['width'], int)


def test_the_value_found_is_the_nearest_in_its_steps():
    measure = decoder()
    settings = solve(measure, target := measure({'width': 1001}), {'width': 64}, width=8)
    assert settings == {'width': min(range(8, 2000, 8), key=lambda width: abs(measure({'width': width}) - target))}


def test_a_figure_that_agrees_already_changes_nothing():
    measure = decoder()
    assert solve(measure, 1.009 * measure({}), {'width': 192}, width=8) == {}


def test_a_coarse_field_alone_is_refused_with_the_nearest():
    measure = decoder(layers=3)
    with pytest.raises(UserError) as refusal:
        solve(measure, decoder()({}), {'width': 192}, width=96)
    assert 'no width in these steps brings parameters within 1% of' in str(refusal.value)
    assert f'nearest is {measure({"width": 192}):,} at width=192; add a finer field' in str(refusal.value)


@pytest.mark.parametrize('layers', [1, 2, 3, 5, 6])
def test_a_fine_field_makes_up_for_a_coarse_one(layers):
    measure, target = decoder(layers=layers), decoder()({})
    settings = solve(measure, target, {'width': 192, 'ratio': 4.0}, width=96, ratio=0.01)
    assert is_matched(measure, settings, target)
    assert settings['width'] % 96 == 0


def test_the_fine_field_is_left_alone_where_the_coarse_one_is_enough():
    measure = decoder(layers=1)
    assert solve(measure, measure({'width': 960}), {'width': 192, 'ratio': 4.0}, width=96, ratio=0.01) == {'width': 960}


def test_the_base_of_a_search_need_not_be_a_multiple_of_the_step():
    measure = decoder()
    assert solve(measure, measure({'width': 300}), {'width': 1.0}, width=100) == {'width': 300}


def test_a_step_that_is_a_float_gives_values_without_noise():
    settings = solve(decoder(), decoder(ratio=2.93)({}), {'ratio': 4.0}, ratio=0.01)
    assert settings == {'ratio': pytest.approx(2.93, abs=0.05)}
    assert len(str(settings['ratio'])) <= len('2.93')


def test_a_figure_below_what_one_step_gives_is_refused():
    with pytest.raises(UserError, match=r'nearest is .* at width=64'):
        solve(decoder(), 1000, {'width': 256}, width=64)


@pytest.mark.parametrize('target', [10, 1000])
def test_a_field_that_does_not_matter_is_refused(target):
    with pytest.raises(UserError, match=r'has it any effect\?|add a finer field'):
        solve(lambda settings: 100, target, {'depth': 4}, depth=1)


def test_a_broken_model_on_the_way_is_its_own_refusal():
    def measure(settings):
        if settings.get('width', 192) % 16:
            raise UserError('width 100 is not divisible by 16 heads')
        return settings.get('width', 192)

    with pytest.raises(UserError, match='not divisible by 16 heads'):
        solve(measure, 400, {'width': 192}, width=10)


def test_a_spec_is_read():
    assert Match.of({'what': 'parameters', 'by': {'width': 8}}) == Match('parameters', {'width': 8}, None)
    assert Match.of({'what': 'flops_per_token', 'by': {'ratio': 0.1}, 'to': 1e7}).to == 1e7


@pytest.mark.parametrize(
    ('spec', 'words'),
    [
        ('parameters', "match: write dict(what='parameters'"),
        ({'what': 'parameters'}, "match: write dict(what='parameters'"),
        ({'what': 'parameters', 'by': {'a': 1}, 'at': 3}, "match: write dict(what='parameters'"),
        ({'what': 'flops', 'by': {'a': 1}}, "match.what: 'flops' is not one of parameters, flops_per_token"),
        ({'what': 'parameters', 'by': {}}, 'match.by: write a dict'),
        ({'what': 'parameters', 'by': ['a']}, 'match.by: write a dict'),
        ({'what': 'parameters', 'by': {'a': 0}}, 'match.by.a: the step must be a positive number, not 0'),
        ({'what': 'parameters', 'by': {'a': 'b'}}, "match.by.a: the step must be a positive number, not 'b'"),
        ({'what': 'parameters', 'by': {'a': True}}, 'match.by.a: the step must be'),
        ({'what': 'parameters', 'by': {'a': 1}, 'to': -1}, 'match.to: must be a positive number, not -1'),
    ],
)
def test_what_is_no_match_is_refused(spec, words):
    with pytest.raises(UserError) as refusal:
        Match.of(spec)
    assert words in str(refusal.value)
