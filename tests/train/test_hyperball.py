# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Hyperball: the equation by a loop over matrices, norms that stay, other parameters, matrices that start at zero."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.build import build
from saccade.train.backend import replace_params
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.setup import make_backend
from saccade.types import UserError

AXES = {'table': 'V D', 'layers/query': 'L D -> N H', 'layers/output': 'L N H -> D', 'layers/scale': 'L D'}
SHAPES = {'table': (5, 4), 'layers': {'query': (2, 4, 3, 2), 'output': (2, 3, 2, 4), 'scale': (2, 4)}}
RATE, LENGTH = 0.01, 3.0
QUICKSTART = Path(__file__).parents[2] / 'experiments' / 'causal_lm' / 'quickstart.py'


def draw(number):
    random = np.random.default_rng(number)
    return jax.tree.map(
        lambda shape: jnp.array(random.normal(size=shape), jnp.float32), SHAPES, is_leaf=lambda x: isinstance(x, tuple)
    )


def optimizer(rule='optax:scale_by_adam', **fields):
    spec = {'use': 'train.hyperball:hyperball', 'rule': {'use': rule}, 'length': LENGTH}
    return build({'use': 'train.optimizer:Optimizer', 'rule': spec, **fields})()


def steps(made, params, count=1):
    transformation = made(optax.constant_schedule(RATE), params, AXES)
    state = transformation.init(params)
    for number in range(count):
        updates, state = transformation.update(draw(number + 1), state, params)
        params = optax.apply_updates(params, updates)
    return params


@pytest.mark.long
def test_a_step_is_the_equation_for_each_matrix_and_the_rule_for_all_else():
    before = draw(0)
    after = steps(optimizer(), before)
    u, _ = optax.scale_by_adam().update(draw(1), optax.scale_by_adam().init(before))
    np.testing.assert_allclose(after['table'], before['table'] - RATE * u['table'], rtol=1e-5)
    np.testing.assert_allclose(
        after['layers']['scale'], before['layers']['scale'] - RATE * u['layers']['scale'], rtol=1e-5
    )
    for name in ('query', 'output'):
        for layer in range(2):
            old, update, new = (np.float64(tree['layers'][name][layer]) for tree in (before, u, after))
            radius = np.linalg.norm(old)
            moved = old - RATE * LENGTH * radius * update / np.linalg.norm(update)
            np.testing.assert_allclose(new, radius * moved / np.linalg.norm(moved), rtol=1e-5, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize('rule', ['optax:scale_by_adam', 'train.optimizer:muon'])
def test_norms_of_hidden_matrices_stay_in_many_steps_and_weight_decay_changes_nothing_of_them(rule):
    before = draw(0)
    after = steps(optimizer(rule, weight_decay=0.5), before, 50)
    for name in ('query', 'output'):
        norms = [np.linalg.norm(tree['layers'][name].reshape(2, -1), axis=-1) for tree in (before, after)]
        np.testing.assert_allclose(*norms, rtol=1e-6)
        assert np.abs(after['layers'][name] - before['layers'][name]).max() > 0.1


def test_a_matrix_that_starts_at_zero_learns_and_keeps_no_norm():
    before = draw(0)
    before['layers']['query'] = before['layers']['query'].at[1].set(0.0)
    once, twice = (steps(optimizer(), before, count)['layers']['query'] for count in (1, 2))
    assert jnp.sqrt(jnp.square(once[1]).mean()) == pytest.approx(RATE * 0.2, rel=1e-4)
    assert jnp.linalg.norm(twice[1]) > 1.2 * jnp.linalg.norm(once[1])
    np.testing.assert_allclose(jnp.linalg.norm(twice[0]), jnp.linalg.norm(before['layers']['query'][0]), rtol=1e-6)


def test_parameters_without_a_hidden_matrix_are_refused():
    table = {'table': jnp.ones((5, 4))}
    with pytest.raises(UserError, match='hyperball finds no hidden kernel'):
        optimizer()(optax.constant_schedule(RATE), table, {'table': 'V D'}).init(table)


@pytest.mark.long
@pytest.mark.parametrize('backend', ['jit', 'pmap'])
def test_a_run_keeps_the_norms_of_the_weights_that_it_starts_from(backend):
    rule = "{'use': 'train.hyperball:hyperball', 'rule': {'use': 'optax:scale_by_adam'}}"
    changes = [f'optimizer.rule={rule}', f'backend={backend}', 'model.width=36', 'model.layers=1', 'ema=0.9']
    run = Experiment.of(load_config(str(QUICKSTART), [f'--config.{change}' for change in changes]))
    backend = make_backend(run)
    state = backend.init(0)
    params = jax.tree.map(lambda leaf: 3.0 * leaf, backend.unload(state).params)
    begun = backend.unload(replace_params(backend, state, params))
    expected = backend.learner.optimizer.init(params)
    for found, wanted in zip(jax.tree.leaves(begun.opt_state), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    for found, wanted in zip(jax.tree.leaves(begun.averaged), jax.tree.leaves(params), strict=True):
        np.testing.assert_array_equal(found, wanted)


TRAINED = """
import json
import numpy as np
from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.preflight import spread
from saccade.train.config import load_config
from saccade.train.experiment import Experiment

step = spread(Experiment.of(load_config(sys.argv[1], sys.argv[2:])), Chips.here())
draw = np.random.default_rng(0)
rows = {name: np.ones(leaf.shape, leaf.dtype) for name, leaf in step.batches[0].items()}
rows['tokens'] = draw.integers(1, 20, rows['tokens'].shape).astype(rows['tokens'].dtype)
rows = jax.tree.map(lambda row, like: jax.device_put(row, like.sharding), rows, dict(step.batches[0]))
key = jax.random.key_data(jax.random.key(0))
state = jax.jit(step.learner.init, out_shardings=step.places)(key, rows)
program = step.train_step(step.batches[0]).compile()
norms, losses = [], []
for _ in range(5):
    norms.append([float(np.linalg.norm(leaf)) for leaf in jax.tree.leaves(state.params['layers'])])
    state, metrics = program(state, rows, np.float32(0.01), step.learner.scales)
    losses.append(float(metrics['loss']))
print(json.dumps([losses, norms]))
"""


@pytest.mark.long
def test_a_run_on_eight_devices_is_that_on_one_and_keeps_the_norms_of_its_kernels(in_processes):
    rule = "{'use': 'train.hyperball:hyperball', 'rule': {'use': 'optax:scale_by_adam'}}"
    flags = [f'--config.optimizer.rule={rule}', '--config.model.width=32', '--config.model.block.mixer.heads=4']
    mesh = [f'--config.mesh.{axis}=2' for axis in ('data', 'fsdp', 'tensor')]
    (losses, norms), (others, _) = (
        in_processes(TRAINED, QUICKSTART, *flags, *given, count=1, devices=devices)[0]
        for given, devices in (([], 1), (mesh, 8))
    )
    np.testing.assert_allclose(others, losses, rtol=1e-5)
    assert losses[-1] < losses[0]
    kept = np.isclose(norms[0], norms[-1], rtol=1e-6)
    assert kept.sum() >= 6  # of two norms, query, keys and values, output, and two kernels of the feed-forward layer
