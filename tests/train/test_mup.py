# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""muP: which rates it divides, and that training then changes a model alike at any width."""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.axes import declared
from saccade.build import build
from saccade.train.config import load_config
from saccade.train.learner import Learner
from saccade.train.mup import MuP
from saccade.train.optimizer import Optimizer
from saccade.types import LayerContext, Part, UserError

MUP = str(Path(__file__).parents[2] / 'experiments/causal_lm/mup.py')
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
L, D, N, H, F, V, E = 3, 64, 4, 16, 20, 7, 5


SLOWED = {
    'layers/query': ('L D -> N H', (L, D, N, H)),
    'layers/output': ('L N H -> D', (L, N, H, D)),
    'layers/expert/gate': ('L E D -> F', (L, E, D, F)),
    'layers/expert/down': ('L E F -> D', (L, E, F, D)),
    'layers/latent': ('L D -> R', (L, D, 8)),
    'layers/router': ('L D -> X', (L, D, E)),
    'layers/write': ('L D -> N', (L, D, N)),
    'layers/taps': ('L D -> D', (L, 3 * D, D)),
    'hidden': ('D -> D', (D, D)),
    'classes': ('D -> C', (D, 2)),
}
WHOLE = {
    'embedding': ('V D', (V, D)),
    'head': ('D -> V', (D, V)),
    'positions': ('T D', (9, D)),
    'frames': ('X -> D', (5, D)),
    'layers/query_bias': ('L N H', (L, N, H)),
    'layers/scale': ('L D', (L, D)),
    'layers/up_latent': ('L R -> N H', (L, 8, N, H)),
    'layers/slots': ('L S -> X', (L, 9, 3)),
    'foreign': (None, (D, D)),
}


def test_kernels_get_the_base_width_over_the_width_and_all_else_its_full_rate():
    given = SLOWED | WHOLE
    params = {path: jax.ShapeDtypeStruct(shape, jnp.float32) for path, (_, shape) in given.items()}
    axes = {path: axes for path, (axes, _) in given.items() if axes is not None}
    factors = build({'use': 'train.mup:MuP', 'base_width': 16})()(params, axes)
    assert factors == {**dict.fromkeys(SLOWED, 0.25), **dict.fromkeys(WHOLE, 1.0)}


def test_it_divides_the_update_and_leaves_weight_decay_alone():
    params, gradient, axes = {'up': jnp.ones((8, 2))}, {'up': jnp.full((8, 2), 3.0)}, {'up': 'D -> F'}
    rates = Part(MuP, (('base_width', 2),))
    made = Optimizer(Part(optax.identity), weight_decay=0.5, rates=rates)
    optimizer = made(optax.constant_schedule(0.1), params, axes)
    updates, _ = optimizer.update(gradient, optimizer.init(params), params)
    np.testing.assert_allclose(updates['up'], -0.1 * (3.0 / 4 + 0.5), rtol=1e-6)


def test_refuses_a_base_width_of_nought():
    with pytest.raises(UserError, match='base_width must be at least 1'):
        MuP(0)({'up': jnp.zeros((8, 8))}, {})


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
    variables = jax.eval_shape(lambda: model.init(jax.random.key(0), tokens[:, :-1], context, False))
    optimizer = build(given['optimizer'])()(schedule, variables['params'], declared(variables))
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
@pytest.mark.parametrize('width', [WIDE, *(pytest.param(width, marks=pytest.mark.slow) for width in (64, 128, 512))])
def test_steps_change_a_model_as_much_at_another_width_as_at_the_base(width):
    """The coordinate check of Yang et al. 2022, figure 5, on the experiment as it ships."""
    narrow, wide = changes(BASE, BASE), changes(width, BASE)
    for coordinate, size in narrow.items():
        assert size / ALIKE < wide[coordinate] < size * ALIKE, coordinate


@pytest.mark.long
def test_in_the_standard_parametrisation_they_change_it_the_more_the_wider_it_is():
    narrow, wide = changes(BASE, BASE), changes(WIDE, WIDE)
    assert all(wide[coordinate] > GROWN * size for coordinate, size in narrow.items())
