# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Weights are counted by hand, named by what they are for, and counted without being made."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.inside.parameters import tabulate_config, weights
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import param_shapes
from saccade.train.plan import by_role, role_of

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
SAME_NUMBERS = 1e-5
V, T, D, N = 2048, 64, 128, 4
# The quickstart's tokenizer makes no difference to the weights.
WORDS = "{'use': 'data.tokenizer.word:Word', 'vocabulary': 2048}"
LEARNED = f"{{'use': 'position.learned:Learned', 'length': {T}}}"  # positions that are weights too


def config(name, *changes):
    return load_config(str(EXPERIMENTS / name), [f'--config.{change}' for change in changes])


def encoder(*changes):
    return config('masked_lm/quickstart.py', f'data.tokenizer={WORDS}', f'model.position={LEARNED}', *changes)


def shapes(given):
    return param_shapes(Experiment.of(given))


def table(found):
    return {weight.name: (weight.role, weight.layers, weight.shape) for weight in found}


def test_the_weights_of_an_encoder_are_those_that_one_counts_by_hand():
    found = table(weights(shapes(encoder())))
    assert (
        found.items()
        >= {
            'embedding': ('embedding', 1, (V, D)),
            'types': ('embedding', 1, (2, D)),
            'embedding_norm/scale': ('norms', 1, (D,)),
            'position/positions': ('positions', 1, (T, D)),
            'mixer/query': ('mixer', 4, (D, N, D // N)),
            'mixer/key': ('mixer', 4, (D, N, D // N)),
            'mixer/value': ('mixer', 4, (D, N, D // N)),
            'mixer/value_bias': ('mixer', 4, (N, D // N)),
            'mixer/output': ('mixer', 4, (N, D // N, D)),
            'feedforward/up': ('feed-forward', 4, (D, 4 * D)),
            'feedforward/down': ('feed-forward', 4, (4 * D, D)),
            'mixer_norm/scale': ('norms', 4, (D,)),
            'masked_head/hidden': ('heads', 1, (D, D)),
            'masked_head/norm/scale': ('norms', 1, (D,)),
            'pooled_head/output': ('heads', 1, (D, 2)),
        }.items()
    )


@pytest.mark.parametrize(
    ('path', 'role'),
    [
        ('head', 'heads'),
        ('masked_head/bias', 'heads'),
        ('embedding_output_bias', 'embedding'),
        ('generator/types', 'embedding'),
        ('layers/pattern_0/mixer/position/table', 'positions'),
        ('layers/pattern_0/mixer/query_norm/scale', 'norms'),
        ('layers/pattern_0/feedforward/shared/gate', 'feed-forward'),
        ('shared/table', 'positions'),
        ('layers/pattern_1/mixer/head_norm/scale', 'norms'),
        ('something/else', 'other'),
    ],
)
def test_a_weight_is_for_what_its_path_says(path, role):
    assert role_of(path) == role


def test_weights_that_layers_of_a_pattern_have_alike_are_one_row():
    alike = table(weights(shapes(config('causal_lm/gemma2_tiny.py'))))
    assert alike['mixer/query'][1] == 4
    pattern = {f'pattern_{number}': {'mixer': {'query': np.ones((3, 4 + number, 2))}} for number in (0, 1)}
    found = weights({'student': {'layers': pattern}, 'teacher': {'layers': pattern}})
    assert [(weight.name, weight.layers, weight.shape) for weight in found] == [
        (f'{model}/mixer/query', 3, (width, 2)) for model in ('student', 'teacher') for width in (4, 5)
    ]


@pytest.mark.parametrize('name', ['causal_lm/deepseek_tiny.py', 'masked_lm/quickstart.py'])
def test_every_parameter_is_counted_once_and_as_the_plan_counts_it(name):
    given = shapes(config(name, *([f'data.tokenizer={WORDS}'] if 'masked' in name else [])))
    counts = {}
    for weight in weights(given):
        counts[weight.role] = counts.get(weight.role, 0) + weight.count
    assert counts == by_role(given)
    assert sum(counts.values()) == sum(leaf.size for leaf in jax.tree.leaves(given))
    assert list(counts.values()) == sorted(counts.values(), reverse=True)


def test_the_norm_is_that_of_all_layers_together():
    params = {
        'embedding': jnp.full((3, 4), 2.0),
        'layers': {f'pattern_{number}': {'mixer': {'query': jnp.full((2, 5), number + 1.0)}} for number in (0, 1)},
    }
    norms = {weight.name: weight.norm for weight in weights(params)}
    assert norms == pytest.approx({'embedding': 48**0.5, 'mixer/query': (10 * 1 + 10 * 4) ** 0.5}, rel=SAME_NUMBERS)


def test_an_experiment_is_tabulated_without_its_weights():
    """These would need terabytes."""
    before = len(jax.live_arrays())
    report = tabulate_config(encoder(f'model.width={2**18}', 'model.layers=8'), 'large')
    assert report.figures['parameters'] > 10**12
    assert {each['norm'] for each in report.figures['weights'] + report.figures['roles']} == {None}
    assert len(jax.live_arrays()) <= before


def test_shares_add_up_and_each_role_is_its_weights():
    figures = tabulate_config(encoder(), 'quickstart').figures
    for name in ('roles', 'weights'):
        assert sum(each['share'] for each in figures[name]) == pytest.approx(1)
        assert sum(each['count'] for each in figures[name]) == figures['parameters']
    roles = {each['role']: each['count'] for each in figures['roles']}
    assert roles['positions'] == T * D
    assert roles['embedding'] == (V + 2) * D


def test_people_see_each_role_and_the_weights_below_it():
    (drawn,) = tabulate_config(encoder(), 'quickstart').tables
    rows = {row[0]: row[1:] for row in drawn.rows}
    assert rows['positions'][:2] == ('', f'{T * D:,}')
    assert rows['  mixer/query'][:2] == ('4 x [128, 4, 32]', f'{4 * D * D:,}')
    assert drawn.title == f'quickstart: {tabulate_config(encoder(), "").figures["parameters"]:,} parameters'


def test_of_an_experiment_it_says_which_weights_decay_in_place_of_norms():
    given = encoder("optimizer.rates={'use': 'train.rates:Frozen', 'match': '^position/'}")
    (drawn,) = tabulate_config(given, 'quickstart').tables
    said = {row[0].strip(): row[-1] for row in drawn.rows}
    assert drawn.columns[-1] == 'decays'
    assert {said[name] for name in ('embedding', 'types', 'mixer/query', 'masked_head/hidden')} == {'yes'}
    assert {said[name] for name in ('mixer/query_bias', 'mixer_norm/scale', 'position/positions')} == {''}


def test_of_lora_it_does_not_say_since_others_than_these_are_trained():
    lora = "low_rank={'use': 'train.low_rank:LowRank', 'rank': 2, 'alpha': 4.0}"
    figures = tabulate_config(encoder(lora), 'quickstart').figures
    assert {each['decays'] for each in figures['weights']} == {None}
