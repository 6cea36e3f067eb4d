# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""muP: which rates it divides, and that training then changes a model alike at any width."""

import functools
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.axes import declared, recorded_axes
from saccade.build import build
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import kept
from saccade.train.learner import Learner
from saccade.train.mup import MuP
from saccade.train.optimizer import Optimizer, path_of
from saccade.train.setup import make_learner, shapes_at_width
from saccade.types import LayerContext, Part, UserError

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
MUP = str(EXPERIMENTS / 'causal_lm/mup.py')
BASE, WIDE = 32, 256
STEPS, RATE = 4, 0.01
ALIKE, GROWN = 1.3, 3.0  # ratios of changes
SMALL = [
    '--config.model.layers=2',
    '--config.model.vocabulary=24',
    '--config.model.context_length=8',
    "--config.model.run={'use': 'model.stack:Scanned', 'remat': None}",
]
B, T = 4, 8
L, N, V, E, R = 3, 4, 7, 5, 8


def shaped(D):
    """Parameters of a model of this width, by path: their axes and shapes. H and F follow the width, R does not."""
    H, F = D // N, 3 * D
    return {
        'layers/query': ('L D -> N H', (L, D, N, H)),
        'layers/output': ('L N H -> D', (L, N, H, D)),
        'layers/expert/gate': ('L E D -> F', (L, E, D, F)),
        'layers/expert/down': ('L E F -> D', (L, E, F, D)),
        'layers/latent': ('L D -> R', (L, D, R)),
        'layers/router': ('L D -> X', (L, D, E)),
        'layers/write': ('L D -> N', (L, D, N)),
        'layers/taps': ('L D -> D', (L, 3 * D, D)),
        'layers/streams': ('L D -> X', (L, 2 * D, 2)),
        'layers/compressed': ('L X H -> D', (L, 5, H, H)),
        'hidden': ('D -> D', (D, D)),
        'classes': ('D -> C', (D, 2)),
        'embedding': ('V D', (V, D)),
        'head': ('D -> V', (D, V)),
        'positions': ('T D', (9, D)),
        'frames': ('X -> D', (5, D)),
        'layers/query_bias': ('L N H', (L, N, H)),
        'layers/scale': ('L D', (L, D)),
        'layers/up_latent': ('L R -> N H', (L, R, N, H)),
        'layers/waves': ('L D -> X', (L, 6, N * H)),
        'layers/slots': ('L S -> X', (L, 9, 3)),
        'foreign': (None, (D, D)),
    }


SLOWED = 12  # the first of these


def at_width(D):
    return {path: jax.ShapeDtypeStruct(shape, jnp.float32) for path, (_, shape) in shaped(D).items()}


def factors(width, base):
    axes = {path: axes for path, (axes, _) in shaped(width).items() if axes is not None}
    return build({'use': 'train.mup:MuP', 'base_width': base})()(at_width(width), axes, at_width)


def test_kernels_get_their_fan_in_at_the_base_width_over_their_own_and_all_else_its_full_rate():
    slowed, whole = list(shaped(64))[:SLOWED], list(shaped(64))[SLOWED:]
    assert factors(64, base=16) == {**dict.fromkeys(slowed, 0.25), **dict.fromkeys(whole, 1.0)}


def test_every_factor_is_1_at_the_base_width():
    assert set(factors(64, base=64).values()) == {1.0}


def test_it_divides_the_update_and_leaves_weight_decay_alone():
    params, gradient, axes = {'up': jnp.ones((8, 2))}, {'up': jnp.full((8, 2), 3.0)}, {'up': 'D -> F'}
    rates = Part(MuP, (('base_width', 2),))
    made = Optimizer(Part(optax.identity), weight_decay=0.5, rates=rates)
    optimizer = made(optax.constant_schedule(0.1), params, axes, lambda D: {'up': jax.ShapeDtypeStruct((D, 2), float)})
    updates, _ = optimizer.update(gradient, optimizer.init(params), params)
    np.testing.assert_allclose(updates['up'], -0.1 * (3.0 / 4 + 0.5), rtol=1e-6)


def test_refuses_a_model_without_a_config():
    with pytest.raises(UserError, match='which needs a config'):
        MuP(4)({'up': jnp.zeros((8, 8))}, {})


def experiment(name, *changes, base=16):
    given = (f"optimizer.rates={{'use': 'train.mup:MuP', 'base_width': {base}}}", *changes)
    return Experiment.of(load_config(str(EXPERIMENTS / name), [f'--config.{change}' for change in given]))


def rates_of(given):
    """The factor of each parameter of an experiment, by path, as its optimizer is given them."""
    shapes, axes = kept(given)
    found = MuP(given.optimizer['rates']['base_width'])(shapes, axes, partial(shapes_at_width, given))
    return {path_of(path): factor for path, factor in jax.tree_util.tree_leaves_with_path(found)}


def test_the_base_model_has_the_width_alone_changed_and_nothing_is_compiled_for_it(caplog):
    quickstart = experiment('causal_lm/quickstart.py', 'model.width=64', 'model.block.mixer.heads=4', base=32)
    make_learner(replace(quickstart, optimizer=quickstart.optimizer.replace(rates=None)))  # which makes a key
    with jax.log_compiles():
        make_learner(quickstart)
        assert not [record for record in caplog.records if 'ompiling' in record.getMessage()]
        jax.jit(lambda x: x + 1)(1)
        assert [record for record in caplog.records if 'ompiling' in record.getMessage()]
    before, after = kept(quickstart)[0], shapes_at_width(quickstart, 32)
    assert after['layers']['pattern_0']['mixer']['query'].shape[1:] == (32, 4, 8)
    assert before['layers']['pattern_0']['mixer']['query'].shape[1:] == (64, 4, 16)
    assert {rates_of(quickstart)[f'layers/pattern_0/mixer/{name}'] for name in ('query', 'output')} == {0.5}


def test_a_head_width_of_its_own_does_not_follow_the_width():
    fixed = experiment('causal_lm/quickstart.py', 'model.width=64', 'model.block.mixer.head_width=16', base=32)
    factors = rates_of(fixed)
    assert (factors['layers/pattern_0/mixer/query'], factors['layers/pattern_0/mixer/output']) == (0.5, 1.0)


@pytest.mark.long
def test_of_a_model_of_towers_each_is_built_at_the_base_width():
    found = rates_of(experiment('translation/dates.py', base=32))
    assert {found[f'{tower}/layers/pattern_0/mixer/query'] for tower in ('encoder', 'decoder')} == {0.5}


TRANSFORMER_XL = "{'use': 'position.transformer_xl:TransformerXL', 'width': 64, 'head_width': 32}"


@pytest.mark.parametrize(
    ('name', 'changes', 'words'),
    [
        ('causal_lm/quickstart.py', ('model.block.mixer.heads=4',), 'base_width=18.*width 18.*heads'),
        ('causal_lm/quickstart.py', (f'model.block.mixer.position={TRANSFORMER_XL}',), 'base_width=18.*width 18'),
        ('translation/copying.py', (), 'base_width=18.*RecurrentSeq2Seq.*as wide as'),
    ],
)
def test_a_config_that_cannot_be_built_at_the_base_width_is_refused_by_name(name, changes, words):
    with pytest.raises(UserError, match=f'optimizer.rates: train.mup:MuP: at {words}'):
        make_learner(experiment(name, *changes, base=18))


def test_a_model_whose_parameters_are_others_at_the_base_width_is_refused():
    params = {'up': jnp.zeros((8, 8)), 'embedding_output': jnp.zeros((4, 8))}
    axes = {'up': 'D -> F', 'embedding_output': 'D -> D'}
    with pytest.raises(UserError, match='at base_width=4 the model has no parameter embedding_output'):
        MuP(4)(params, axes, lambda D: {'up': jnp.zeros((D, D))})


@functools.cache
def changes(width: int, base: int) -> dict[str, float]:
    """Mean sizes of what some steps on one batch change: the tokens after each layer, and the logits."""
    given = load_config(MUP, [*SMALL, f'--config.model.width={width}', f'--config.optimizer.rates.base_width={base}'])
    model, task, schedule = build(given['model'])(), build(given['task'])(), optax.constant_schedule(RATE)
    tokens = jnp.array(np.random.default_rng(0).integers(0, 24, (B, T + 1)), jnp.int32)
    positions = jnp.tile(jnp.arange(T + 1), (B, 1))
    batch = {'tokens': tokens, 'segments': jnp.ones_like(tokens), 'positions': positions}
    key = jax.random.key_data(jax.random.key(0))
    context, block = LayerContext(positions[:, :-1]), build(given['model']['block'])()
    with recorded_axes():
        variables = jax.eval_shape(lambda: model.init(jax.random.key(0), tokens[:, :-1], context, False))
    shapes = partial(shapes_at_width, Experiment.of(given))
    optimizer = build(given['optimizer'])()(schedule, variables['params'], declared(variables), shapes)
    learner = Learner(model, task, optimizer, schedule, 'float32')

    @jax.jit
    def coordinates(params):
        def layer(x, weights):
            x = block.apply({'params': weights}, x, context, False)
            return x, x

        layers = jax.lax.scan(layer, params['embedding'][tokens[:, :-1]], params['layers']['pattern_0'])[1]
        logits = model.apply({'params': params}, tokens[:, :-1], context, False)
        return {'layer 0': layers[0], 'layer 1': layers[1], 'logits': logits}

    @jax.jit
    def train(state):
        return jax.lax.fori_loop(0, STEPS, lambda _, state: learner.train_step(state, batch)[0], state)

    state = jax.jit(learner.init)(key, batch)
    before, after = coordinates(state.params), coordinates(train(state).params)
    return jax.tree.map(lambda old, new: float(jnp.abs(new - old).mean()), before, after)


@pytest.mark.long
@pytest.mark.parametrize('width', [WIDE, 64, 128, 512])
def test_steps_change_a_model_as_much_at_another_width_as_at_the_base(width):
    """The coordinate check of Yang et al. 2022, figure 5, on the experiment as it ships."""
    narrow, wide = changes(BASE, BASE), changes(width, BASE)
    for coordinate, size in narrow.items():
        assert size / ALIKE < wide[coordinate] < size * ALIKE, coordinate


@pytest.mark.long
def test_in_the_standard_parametrisation_they_change_it_the_more_the_wider_it_is():
    narrow, wide = changes(BASE, BASE), changes(WIDE, WIDE)
    assert all(wide[coordinate] > GROWN * size for coordinate, size in narrow.items())
