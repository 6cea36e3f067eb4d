# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Each block's wiring against NumPy, written from its equations, with toy branches of random weights."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_branches import TOYS

from saccade.block.deep_norm import DeepNorm
from saccade.block.halting import Halting
from saccade.block.hyper_connections import HyperConnections
from saccade.block.layer_scale import LayerScale
from saccade.block.macaron import Macaron
from saccade.block.manifold_hyper_connections import ManifoldHyperConnections
from saccade.block.no_residual import NoResidual
from saccade.block.parallel import Parallel
from saccade.block.post_norm import PostNorm
from saccade.block.pre_norm import PreNorm
from saccade.block.res_dual import ResDual
from saccade.block.rezero import ReZero
from saccade.block.sandwich import Sandwich
from saccade.block.shared_keys import SharedKeys
from saccade.types import LayerContext

NEAR = 1e-5  # of the largest element
B, T, D = 2, 6, 4
SEEDS = range(2)
ITERATIONS = 5  # of Sinkhorn's normalisation
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))


def mixer(p):
    return lambda x: np.cumsum(x, axis=1) / np.arange(1, T + 1)[:, None] @ p['mixer']['output']


def feedforward(p, name='feedforward'):
    return lambda x: np.tanh(x @ p[name]['down'])


def norm(p, name):
    return lambda x: p[name]['scale'] * x / (1.0 + np.abs(x))


def pre_norm(p, x, s=1.0):
    h = x + s * mixer(p)(norm(p, 'mixer_norm')(x))
    return h + s * feedforward(p)(norm(p, 'feedforward_norm')(h))


def shared_keys(p, x, s=1.0):
    sums = np.cumsum(norm(p, 'mixer_norm')(x), axis=1)
    for number, layer in enumerate((p, p['layer_2'], p['layer_3'])):
        read = sums + (number > 0) * norm(layer, 'mixer_norm')(x)
        x = x + s * read / np.arange(1, T + 1)[:, None] @ layer['mixer']['output']
        x = x + s * feedforward(layer)(norm(layer, 'feedforward_norm')(x))
    return x


def halting(p, x, passes=4, epsilon=0.01):
    """Token by token: how far each is, and what it has added up, as in Graves 2016, equations 5 to 13."""
    y, sums, running = np.zeros_like(x), np.zeros(x.shape[:2]), np.ones(x.shape[:2], bool)
    for number in range(passes):
        made, before = pre_norm(p['layer'], x + p['step'][number]), x.copy()
        for token in zip(*np.nonzero(running), strict=True):
            chance = 1 / (1 + np.exp(-(before[token] @ p['halt'][:, 0] + p['halt_bias'])))
            halts = sums[token] + chance >= 1 - epsilon or number == passes - 1
            share = 1 - sums[token] if halts else chance
            y[token] += share * made[token]
            sums[token] += share
            x[token], running[token] = made[token], not halts
    return y


def post_norm(p, x, alpha=1.0):
    h = norm(p, 'mixer_norm')(alpha * x + mixer(p)(x))
    return norm(p, 'feedforward_norm')(alpha * h + feedforward(p)(h))


def no_residual(p, x):
    return feedforward(p)(norm(p, 'feedforward_norm')(mixer(p)(norm(p, 'mixer_norm')(x))))


def sandwich(p, x):
    h = x + norm(p, 'mixer_output_norm')(mixer(p)(norm(p, 'mixer_norm')(x)))
    return h + norm(p, 'feedforward_output_norm')(feedforward(p)(norm(p, 'feedforward_norm')(h)))


def rezero(p, x):
    h = x + p['branch_scale'] * mixer(p)(x)
    return h + p['branch_scale'] * feedforward(p)(h)


def rezero_with_two_numbers_and_norms(p, x):
    h = x + p['mixer_scale'] * mixer(p)(norm(p, 'mixer_norm')(x))
    return h + p['feedforward_scale'] * feedforward(p)(norm(p, 'feedforward_norm')(h))


def parallel(p, x):
    return x + mixer(p)(norm(p, 'norm')(x)) + feedforward(p)(norm(p, 'norm')(x))


def parallel_with_two_norms(p, x):
    return x + mixer(p)(norm(p, 'mixer_norm')(x)) + feedforward(p)(norm(p, 'feedforward_norm')(x))


def macaron(p, x):
    a = x + feedforward(p, 'first_feedforward')(norm(p, 'first_feedforward_norm')(x)) / 2
    b = a + mixer(p)(norm(p, 'mixer_norm')(a))
    return b + feedforward(p)(norm(p, 'feedforward_norm')(b)) / 2


def res_dual(p, x):
    x, d = x[..., :D], x[..., D:]
    added = mixer(p)(x)
    h = norm(p, 'mixer_norm')(x + added)
    more = feedforward(p)(h)
    return np.concatenate([norm(p, 'feedforward_norm')(h + more), d + added + more], axis=-1)


def hyper_connection(p, streams, branch):
    """One branch among the streams, [R, B, T, D], token by token and stream by stream."""
    count = len(streams)
    read, added = np.zeros(streams.shape[1:]), np.zeros(streams.shape)
    kept = np.zeros(streams.shape)
    for place in np.ndindex(B, T):
        for r in range(count):
            a, b = p['read_bias'][r].copy(), p['add_bias'][r]
            if 'read' in p:
                normed = norm(p, 'norm')(streams[r][place])
                a += p['read_scale'] * np.tanh(normed @ p['read'])
                b += p['add_scale'] * np.tanh(normed @ p['add'])[0]
            read[place] += a[0] * streams[r][place]
            added[r][place] = b
            for m in range(count):
                kept[m][place] += a[1 + m] * streams[r][place]
    return kept + added * branch(read)


def hyper_connections(p, x):
    streams = np.stack(np.split(x, x.shape[-1] // D, axis=-1))
    streams = hyper_connection(p['mixer_connection'], streams, lambda z: mixer(p)(norm(p, 'mixer_norm')(z)))
    streams = hyper_connection(
        p['feedforward_connection'], streams, lambda z: feedforward(p)(norm(p, 'feedforward_norm')(z))
    )
    return np.concatenate(list(streams), axis=-1)


def manifold_connection(p, streams, branch):
    """One branch among the streams, [R, B, T, D], token by token; Sinkhorn's rows and columns one by one."""
    count = len(streams)
    read, after = np.zeros(streams.shape[1:]), np.zeros(streams.shape)
    added = np.zeros(streams.shape)
    for place in np.ndindex(B, T):
        here = streams[(slice(None), *place)]
        logits = {name: p[f'{name}_bias'].copy() for name in ('read', 'add', 'keep')}
        if 'read' in p:
            normed = norm(p, 'norm')(here.reshape(-1))
            for name in logits:
                logits[name] += p[f'{name}_scale'] * np.tensordot(normed, p[name], axes=1)
        kept = np.exp(logits['keep'])
        for _ in range(ITERATIONS):
            for r in range(count):
                kept[:, r] = kept[:, r] / kept[:, r].sum()
            for r in range(count):
                kept[r] = kept[r] / kept[r].sum()
        for m in range(count):
            read[place] += here[m] / (1 + np.exp(-logits['read'][m]))
            added[m][place] = 2 / (1 + np.exp(-logits['add'][m]))
            after[m][place] = sum(kept[m, r] * here[r] for r in range(count))
    return after + added * branch(read)


def manifold_hyper_connections(p, x):
    streams = np.stack(np.split(x, x.shape[-1] // D, axis=-1))
    streams = manifold_connection(p['mixer_connection'], streams, lambda z: mixer(p)(norm(p, 'mixer_norm')(z)))
    streams = manifold_connection(
        p['feedforward_connection'], streams, lambda z: feedforward(p)(norm(p, 'feedforward_norm')(z))
    )
    return np.concatenate(list(streams), axis=-1)


CASES = {
    'pre-norm': (PreNorm(**TOYS), pre_norm),
    'pre-norm, scaled': (PreNorm(**TOYS, branch_scale=0.3), lambda p, x: pre_norm(p, x, 0.3)),
    'shared keys': (SharedKeys(**TOYS, sharing=3), shared_keys),
    'shared keys, scaled': (SharedKeys(**TOYS, sharing=3, branch_scale=0.3), lambda p, x: shared_keys(p, x, 0.3)),
    'halting': (Halting(**TOYS, passes=4), halting),
    'post-norm': (PostNorm(**TOYS), post_norm),
    'deep-norm': (DeepNorm(**TOYS, alpha=1.7, beta=0.6), lambda p, x: post_norm(p, x, 1.7)),
    'no residual': (NoResidual(**TOYS), no_residual),
    'sandwich': (Sandwich(**TOYS), sandwich),
    'rezero': (ReZero(mixer=TOYS['mixer'], feedforward=TOYS['feedforward']), rezero),
    'rezero, two numbers': (ReZero(**TOYS, shared=False), rezero_with_two_numbers_and_norms),
    'layer scale': (LayerScale(**TOYS, start=0.1), rezero_with_two_numbers_and_norms),
    'parallel': (Parallel(**TOYS), parallel),
    'parallel, two norms': (Parallel(**TOYS, shared_norm=False), parallel_with_two_norms),
    'macaron': (Macaron(**TOYS), macaron),
    'two streams': (ResDual(**TOYS), res_dual),
    'hyper-connections': (HyperConnections(**TOYS, streams=3, dynamic=False), hyper_connections),
    'hyper-connections, dynamic': (HyperConnections(**TOYS, streams=2, dynamic=True), hyper_connections),
    'manifold': (
        ManifoldHyperConnections(**TOYS, streams=3, dynamic=False, iterations=ITERATIONS),
        manifold_hyper_connections,
    ),
    'manifold, dynamic': (
        ManifoldHyperConnections(**TOYS, streams=2, dynamic=True, iterations=ITERATIONS),
        manifold_hyper_connections,
    ),
    'hyper-connections, one stream': (HyperConnections(**TOYS, streams=1, dynamic=True), hyper_connections),
}


def drawn(name: str, seed: int) -> tuple[Any, Any, jax.Array]:
    """A block, random parameters for it, and random tokens, of as many streams as it has."""
    block = CASES[name][0]
    random = np.random.default_rng(seed)
    x = jnp.array(random.normal(size=(B, T, D * getattr(block, 'count', 1))), jnp.float32)
    shapes = jax.eval_shape(lambda: block.init(jax.random.key(0), x, CONTEXT, False))['params']
    params = jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.7), leaf.dtype), shapes)
    return block, params, x


def assert_near(given: Any, expected: Any) -> None:
    np.testing.assert_allclose(given, expected, rtol=0, atol=NEAR * np.abs(expected).max())


@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('name', CASES)
def test_a_wiring_is_its_equations(name, seed):
    block, params, x = drawn(name, seed)
    exact = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
    assert_near(block.apply({'params': params}, x, CONTEXT, False), CASES[name][1](exact, np.asarray(x, np.float64)))


@pytest.mark.long
@pytest.mark.parametrize('name', CASES)
def test_steps_are_the_whole(name):
    block, params, x = drawn(name, 0)
    whole = block.apply({'params': params}, x, CONTEXT, False)
    state = block.apply({'params': params}, x[:, :1], T, method='init_state')
    parts = []
    for here in (slice(0, 3), slice(3, 4), slice(4, 6)):
        context = LayerContext(CONTEXT.positions[:, here])
        part, state = block.apply({'params': params}, x[:, here], context, state, method='step')
        parts.append(part)
    assert_near(jnp.concatenate(parts, axis=1), whole)


@pytest.mark.long
@pytest.mark.parametrize('name', CASES)
def test_every_parameter_has_a_finite_gradient(name):
    block, params, x = drawn(name, 0)
    direction = jnp.array(np.random.default_rng(9).normal(size=x.shape), jnp.float32)
    gradients = jax.grad(lambda p: (direction * block.apply({'params': p}, x, CONTEXT, False)).sum())(params)
    for leaf in jax.tree.leaves(gradients):
        assert np.isfinite(leaf).all()
        assert np.abs(leaf).max() > 0
