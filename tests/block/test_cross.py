# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks that read a source: each wiring with three branches against NumPy, its steps, and which cannot."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_branches import TOYS

from saccade.block.deep_norm import DeepNorm
from saccade.block.layer_scale import LayerScale
from saccade.block.no_residual import NoResidual
from saccade.block.post_norm import PostNorm
from saccade.block.pre_norm import PreNorm
from saccade.block.rezero import ReZero
from saccade.block.sandwich import Sandwich
from saccade.block.shared_keys import SharedKeys
from saccade.build import build
from saccade.module import Layer
from saccade.types import LayerContext, Part, Source, UserError

NEAR = 1e-5  # of the largest element
B, T, S, D = 2, 6, 5, 4
RANDOM = np.random.default_rng(0)
X, READ = (jnp.array(RANDOM.normal(size=(B, length, D)), jnp.float32) for length in (T, S))
PLACES = jnp.tile(jnp.arange(T), (B, 1))
SOURCE = Source(READ, PLACES[:, :S])
CONTEXT = LayerContext(PLACES, source=SOURCE)
OTHERS = ['mixer', 'feedforward', 'norm']


class Meeting(Layer):
    """Reads a source: the sum of its tokens through one matrix, times each token. What it keeps is the product."""

    def init_state(self, x, capacity, source=None):
        return self.mix(x, LayerContext(PLACES[:, :1], source=source), False, None)[1]

    @nn.compact
    def mix(self, x, context, train, state):
        source = context.source
        assert (source.hidden is None) == (state is not None)
        if state is None:
            key = self.param('key', nn.initializers.lecun_normal(), 2 * source.hidden.shape[-1:])
            state = source.hidden.sum(axis=1) @ key
        return x * state[:, None], state


CROSS = {'cross': Part(Meeting)}


def norm(p, name):
    return lambda x: p[name]['scale'] * x / (1.0 + np.abs(x))


def branches(p):
    """Each branch by its name, in order."""
    return {
        'mixer': lambda x: np.cumsum(x, axis=1) / np.arange(1, T + 1)[:, None] @ p['mixer']['output'],
        'cross': lambda x: x * (np.asarray(READ, np.float64).sum(axis=1) @ p['cross']['key'])[:, None],
        'feedforward': lambda x: np.tanh(x @ p['feedforward']['down']),
    }


def in_turn(around):
    """A wiring of which each branch is wired alike, by its equation in x, the branch and the norm."""

    def run(p, x):
        for name, branch in branches(p).items():
            x = around(p, name, x, branch)
        return x

    return run


def pre_norm(p, name, x, f, s=1.0):
    return x + s * f(norm(p, f'{name}_norm')(x))


def post_norm(p, name, x, f, alpha=1.0):
    return norm(p, f'{name}_norm')(alpha * x + f(x))


CASES = {
    'pre-norm': (PreNorm(**TOYS, **CROSS, branch_scale=0.3), lambda *rest: pre_norm(*rest, 0.3)),
    'post-norm': (PostNorm(**TOYS, **CROSS), post_norm),
    'deep-norm': (DeepNorm(**TOYS, **CROSS, alpha=1.7, beta=0.6, scaled=('output', 'key', 'down')),
                  lambda *rest: post_norm(*rest, 1.7)),
    'no residual': (NoResidual(**TOYS, **CROSS), lambda p, name, x, f: f(norm(p, f'{name}_norm')(x))),
    'sandwich': (Sandwich(**TOYS, **CROSS),
                 lambda p, name, x, f: x + norm(p, f'{name}_output_norm')(f(norm(p, f'{name}_norm')(x)))),
    'layer scale': (LayerScale(**TOYS, **CROSS, start=0.1),
                    lambda p, name, x, f: pre_norm(p, name, x, f, p[f'{name}_scale'])),
    'rezero': (ReZero(mixer=TOYS['mixer'], feedforward=TOYS['feedforward'], **CROSS),
               lambda p, name, x, f: x + p['branch_scale'] * f(x)),
    'rezero, a number each': (ReZero(**TOYS, **CROSS, shared=False),
                              lambda p, name, x, f: pre_norm(p, name, x, f, p[f'{name}_scale'])),
}  # fmt: skip


def drawn(name):
    block, random = CASES[name][0], np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: block.init(jax.random.key(0), X, CONTEXT, False))['params']
    return block, jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.7), leaf.dtype), shapes)


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=NEAR * np.abs(expected).max())


@pytest.mark.parametrize('name', CASES)
def test_the_source_is_read_between_the_mixer_and_the_feed_forward_layer_and_wired_as_they_are(name):
    block, params = drawn(name)
    exact = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
    expected = in_turn(CASES[name][1])(exact, np.asarray(X, np.float64))
    assert_near(block.apply({'params': params}, X, CONTEXT, False), expected)


@pytest.mark.long
@pytest.mark.parametrize('name', CASES)
def test_steps_beside_a_source_that_is_read_once_are_the_whole(name):
    block, params = drawn(name)
    whole = block.apply({'params': params}, X, CONTEXT, False)
    state = block.apply({'params': params}, X[:, :1], T, SOURCE, method='init_state')
    parts = []
    for here in (slice(0, 3), slice(3, 4), slice(4, 6)):
        context = LayerContext(PLACES[:, here], source=SOURCE.replace(hidden=None))
        part, state = block.apply({'params': params}, X[:, here], context, state, method='step')
        parts.append(part)
    assert_near(jnp.concatenate(parts, axis=1), whole)


def test_deep_norm_starts_what_reads_the_source_lighter_too():
    light, bare = (
        DeepNorm(**TOYS, **CROSS, alpha=2.0, beta=beta, scaled=('output', 'key', 'down')) for beta in (0.5, 1.0)
    )
    given, expected = (block.init(jax.random.key(0), X, CONTEXT, False)['params'] for block in (light, bare))
    np.testing.assert_array_equal(given['cross']['key'], 0.5 * expected['cross']['key'])


def test_what_is_alike_without_a_source_stays_so():
    """A block without cross has the parameters and the state that it had, and its mixer may read a source itself."""
    block = PreNorm(**TOYS)
    assert block.init(jax.random.key(0), X, CONTEXT, False)['params'].keys() == {
        'mixer', 'mixer_norm', 'feedforward', 'feedforward_norm',
    }  # fmt: skip
    jax.tree.map(np.testing.assert_array_equal, block.init_state(X, T, SOURCE), block.init_state(X, T))


def test_without_a_source_there_is_nothing_to_read():
    block = CASES['pre-norm'][0]
    with pytest.raises(UserError, match='pre_norm:PreNorm: cross requires a source'):
        block.init(jax.random.key(0), X, LayerContext(PLACES), False)
    with pytest.raises(UserError, match='cross needs a source to decode'):
        block.init_state(X, T)


def part(use, **fields):
    attention = {
        'use': 'attention.multi_head:MultiHead',
        'heads': 2,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Full'},
        'position': {'use': 'position.none:NoPosition'},
    }
    own = {
        'use': use,
        'mixer': attention,
        'cross': attention,
        'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}},
        'norm': {'use': 'norm.rms:RMSNorm'},
    }
    return own | fields


@pytest.mark.parametrize(
    'use', ['parallel:Parallel', 'macaron:Macaron', 'res_dual:ResDual', 'hyper_connections:HyperConnections']
)
def test_a_block_that_is_wired_otherwise_has_no_place_for_it(use):
    with pytest.raises(UserError, match=f"config.cross: block.{use} has no field 'cross'"):
        build(part(f'block.{use}'))


def test_layers_that_share_keys_cannot_read_a_source():
    with pytest.raises(UserError, match='SharedKeys reads no source'):
        SharedKeys(**TOYS, **CROSS, sharing=2).init(jax.random.key(0), X, CONTEXT, False)


@pytest.mark.parametrize('use', ['retention:Retention', 'delta:Delta'])
def test_what_can_read_its_own_sequence_alone_is_refused_by_name(use):
    with pytest.raises(
        UserError,
        match=rf'config.cross: attention.{use} is not a CrossMixer: it has no init_state\(x, capacity, source\)',
    ):
        build(part('block.pre_norm:PreNorm', cross={'use': f'attention.{use}', 'heads': 2}))
