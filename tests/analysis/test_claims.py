# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of recurrence, attention and decoding is so, in the tables that anybody can make again."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.analysis.report.figures import Table
from saccade.studies.chart import Chart
from saccade.studies.conversation import conversation
from saccade.studies.distance import gradient, interaction, wall_time
from saccade.studies.estimators import estimators
from saccade.studies.focus import EVERY, LENGTH, REACH, attentions, entropy, focus
from saccade.studies.focus import watched as focused
from saccade.studies.gradient_norms import VARIANTS, gradient_norms
from saccade.studies.induction import induction_scores, watched
from saccade.studies.removed_heads import DRAWS, LAYERS, experiment_of, masks, removed_heads, without
from saccade.types import LayerContext, UserError

LENGTHS = (8, 16, 32)


def figures(claim):
    return json.loads(claim.report.json())


@pytest.mark.long
def test_the_distance_of_tokens_grows_with_the_length_in_a_recurrence_and_not_in_attention():
    found = figures(interaction(LENGTHS))
    assert found['steps'] == {'RNN': [8, 16, 32], 'convolution': [4, 8, 16], 'attention': [1, 1, 1]}
    assert found['layers'] == {'RNN': [1, 1, 1], 'convolution': [4, 8, 16], 'attention': [1, 1, 1]}


@pytest.mark.long
def test_a_way_that_no_gradient_survives_is_found_all_the_same():
    found = figures(interaction((256,)))
    assert (found['steps']['RNN'], found['layers']['RNN']) == ([256], [1])
    assert figures(gradient((256,)))['norms']['RNN'] == [0.0]


@pytest.mark.long
def test_the_gradient_of_a_plain_recurrence_decays_exponentially_and_that_of_attention_not_at_all():
    norms = {name: np.array(values) for name, values in figures(gradient((8, 16, 24, 32)))['norms'].items()}
    decay = norms['RNN'][1:] / norms['RNN'][:-1]
    assert (decay < 0.2).all()
    np.testing.assert_allclose(np.log(decay), np.log(decay).mean(), rtol=0.5)  # a line on a logarithmic axis
    assert norms['LSTM'][-1] > 10 * norms['RNN'][-1]
    assert norms['attention'].max() < 3 * norms['attention'].min()
    assert norms['attention'][-1] > 1000 * norms['RNN'][-1]


@pytest.mark.long
def test_every_mixer_is_timed_beside_its_sequential_steps():
    found = figures(wall_time((8, 16), rounds=1))
    assert found['steps'] == {'RNN': [16, 32], 'LSTM': [16, 32], 'convolution': [0, 0], 'attention': [0, 0]}
    assert all(time > 0 for times in found['milliseconds'].values() for time in times)


@pytest.mark.long
def test_a_transcript_that_is_read_anew_costs_the_square_of_the_turns_and_a_cache_as_much_at_each():
    found = figures(conversation(turns=4, rounds=1))
    anew, cached = (np.array(found['models'][name]['flops']) for name in ('encoder-decoder', 'cached decoder'))
    assert (np.diff(anew) > 0.5 * anew[0]).all()
    assert (np.diff(cached) == 0).all()
    assert found['exponents']['encoder-decoder'] > 1.5
    assert found['exponents']['cached decoder'] == pytest.approx(1.0)
    assert all(time > 0 for model in found['models'].values() for time in model['milliseconds'])


@pytest.mark.long
def test_reinforce_has_no_bias_and_most_variance_and_a_baseline_takes_of_it():
    claim = estimators(10_000)
    found = figures(claim)['estimators']
    assert set(found) == {row[0] for row in claim.report.tables[0].rows}
    seen = {name for name, each in found.items() if each['bias'] > 4 * each['noise']}
    assert seen == {'Gumbel, temperature 0.5', 'Gumbel, temperature 1', 'straight-through'}
    falling = sorted(found, key=lambda name: -found[name]['variance'])
    assert falling[:2] == ['REINFORCE', 'REINFORCE, baseline']
    assert claim.chart.x[-1] == 10_000
    assert claim.chart.lines['REINFORCE'][-1] == pytest.approx(found['REINFORCE']['bias'], rel=1e-3)


@pytest.mark.parametrize('ending', ['png', 'svg', 'pdf'])
def test_a_chart_is_written_as_its_name_says(ending, tmp_path):
    path = tmp_path / f'chart.{ending}'
    Chart('tokens', 'steps', (1, 2, 4), {'a': (1, 2, 4), 'b': (1, 0, 2)}).save(path)
    assert path.read_bytes()[:5] in (b'\x89PNG\r', b'<?xml', b'%PDF-')
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: interaction((1, 8)), 'lengths of at least 2 tokens'),
        (lambda: conversation(turns=1), '--turns=1: growth needs at least 2'),
        (lambda: gradient_norms(seeds=0), '--seeds=0: give at least one seed'),
        (lambda: removed_heads(seeds=0), '--seeds=0: give at least one seed'),
        (lambda: focus(seeds=0), '--seeds=0 --steps=300: give at least one seed and 100 steps'),
        (lambda: Chart('a', 'b', (1,), {'c': (1,)}).save(Path('x.gif')), 'ends in .png'),
    ],
)
def test_what_cannot_be_shown_is_refused(make, message):
    with pytest.raises(UserError, match=message):
        make()


def test_a_line_without_positive_points_is_left_out_of_a_chart(tmp_path):
    Chart('layer', 'norm', (1, 2), {'a': (1, 2), 'b': (0.0, -1.0)}, 'linear').save(tmp_path / 'a.svg')
    assert (tmp_path / 'a.svg').stat().st_size > 1000


def test_a_table_is_written_as_comma_separated_values():
    table = Table('title', ('model', 'loss, nats'), [('a "b"', '1.5'), ('c', '2.0')])
    assert table.csv() == 'model,"loss, nats"\n"a ""b""",1.5\nc,2.0\n'


@pytest.mark.long
def test_gradients_grow_with_the_depth_without_norms_and_not_with_layer_norm():
    claim = gradient_norms(seeds=2, depths=(2, 8))
    norms = {name: np.array(values) for name, values in figures(claim)['norms'].items()}
    assert {name: len(values) for name, values in norms.items()} == {
        f'{name}, {depth} layers': depth for depth in (2, 8) for name in VARIANTS
    }
    assert norms['no norm, 8 layers'][0] > 1000 * norms['no norm, 2 layers'][0]
    for name in ('pre-norm', 'post-norm'):
        assert norms[f'{name}, 8 layers'][0] == pytest.approx(norms[f'{name}, 2 layers'][0], rel=0.5)
    # Xiong et al. 2020: the last layer's gradient shrinks as 1 / sqrt(L) in pre-norm, and does not in post-norm.
    last = {name: norms[f'{name}, 8 layers'][-1] / norms[f'{name}, 2 layers'][-1] for name in VARIANTS}
    assert last['pre-norm'] == pytest.approx(np.sqrt(2 / 8), rel=0.3)
    assert last['post-norm'] == pytest.approx(1.0, rel=0.4)
    assert claim.chart.lines['pre-norm, 2 layers'] == [*norms['pre-norm, 2 layers'], 0, 0, 0, 0, 0, 0]


def test_heads_are_removed_at_random_by_powers_of_two():
    kept = masks(4, np.random.default_rng(0))
    assert [int((~mask).sum()) for mask in kept] == [0, *[1] * DRAWS, *[2] * DRAWS, *[4] * DRAWS, 8]
    assert all(mask.shape == (LAYERS, 4) for mask in kept)
    assert len({mask.tobytes() for mask in kept}) > DRAWS
    assert [int((~mask).sum()) for mask in masks(1, np.random.default_rng(0))] == [0, *[1] * DRAWS, 2]


@pytest.mark.long
def test_a_head_that_is_removed_has_no_output():
    model = experiment_of(heads=4, steps=20).model()
    tokens = jax.random.randint(jax.random.key(0), (2, 8), 0, 512)
    given = tokens, LayerContext(np.tile(np.arange(8), (2, 1))), False
    params = jax.jit(lambda: model.init(jax.random.key(1), *given)['params'])()
    params = jax.tree.map(lambda leaf: 5 * leaf, params)
    apply = jax.jit(lambda params: model.apply({'params': params}, *given))
    kept = np.array([[True, False, True, True], [False, True, True, False]])
    mixer = params['layers']['pattern_0']['mixer']
    silent = mixer | {'value': mixer['value'] * kept[:, None, :, None]}  # heads of zero values
    other = params | {'layers': {'pattern_0': params['layers']['pattern_0'] | {'mixer': silent}}}
    logits = apply(without(params, kept))
    np.testing.assert_allclose(logits, apply(other), rtol=1e-5, atol=1e-5)
    assert np.abs(logits - apply(params)).max() > 1e-2
    np.testing.assert_array_equal(apply(without(params, np.ones((2, 4), bool))), apply(params))


@pytest.mark.long
def test_the_loss_without_heads_is_measured_for_every_number_of_heads_and_seed():
    claim = removed_heads(seeds=2, steps=2, heads=(1, 2))
    found = figures(claim)['losses']
    assert [[*losses] for losses in found['1']] == [['0', '1', '2']] * 2
    assert [[*map(len, losses.values())] for losses in found['2']] == [[1, DRAWS, DRAWS, 1]] * 2
    assert found['2'][0]['0'] != found['2'][1]['0']
    assert claim.chart.x == [0.25, 0.5, 1.0]
    (table,) = claim.report.tables
    assert [row[:3] for row in table.rows[:3]] == [('1', '0', '0.0000'), ('1', '1', '0.5000'), ('1', '2', '1.0000')]
    increase = np.mean([losses['2'][0] - losses['0'][0] for losses in found['1']])
    assert float(table.rows[2][4]) == pytest.approx(increase, abs=1e-4)


def test_an_induction_score_is_the_weight_on_what_followed_a_period_before():
    weights, period = np.zeros((2, 1, 6, 6)), np.array([2, 3])
    for row, each in enumerate(period):
        for query in range(6):
            weights[row, 0, query, max(query - each + 1, 0)] = 0.25 * (row + 1)
    weights[..., 5] += 1 - weights.sum(axis=-1)  # no query follows the token before it
    # Four queries of the first row, three of the second; those of the first period do not count.
    np.testing.assert_allclose(induction_scores(weights, period), [(4 * 0.25 + 3 * 0.5) / 7])


@pytest.mark.long
def test_induction_heads_appear_with_the_drop_of_the_in_context_loss_in_two_layers_and_not_in_one():
    one, two = watched(1, seed=0, steps=400), watched(2, seed=0, steps=400)
    assert two.drop() == two.rise() is not None
    assert one.drop() is one.rise() is None
    assert two.last()[0] < 0.5 < 2 < one.last()[0]
    # Without its induction head the model of two layers knows little more of the context than that of one layer.
    without_best, without_other = two.without
    assert two.best.startswith('layers.1.')
    assert without_best > two.last()[0] + 1 > without_other > two.last()[0]


def test_the_entropy_of_weights_is_the_logarithm_of_as_many_equal_ones():
    weights = jnp.array([[0.25, 0.25, 0.25, 0.25], [0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0]])
    np.testing.assert_allclose(entropy(weights), np.log([4, 2, 1]), atol=1e-6)


@pytest.mark.long
def test_a_window_bounds_the_entropy_of_local_attention_before_training_and_global_attention_has_none():
    begun = {name: focused(spec, seed=0, steps=0) for name, spec in attentions().items()}
    assert begun['global'].entropy[0] > 0.9 * np.log(LENGTH)
    assert begun['local-p'].entropy[0] < begun['local-m'].entropy[0] <= np.log(2 * REACH + 1)


@pytest.mark.long
def test_the_focus_of_each_attention_is_told_with_its_interval():
    claim = focus(seeds=2, steps=EVERY)
    assert [row[:2] for row in claim.report.tables[0].rows] == [
        (name, step) for step in ('0', '100') for name in ('global', 'local-m', 'local-p')
    ]
    assert all('[' in row[2] for row in claim.report.tables[0].rows)
    assert figures(claim)['attentions']['global'][0]['entropy'][1] < np.log(LENGTH) / 2
