# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""TTT-Linear: the authors' outputs, descent step by step, the loss it lowers, and no steps at all."""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from einops import rearrange
from flax.traverse_util import unflatten_dict

from saccade.attention.ttt_linear import TTTLinear
from saccade.ops.fast_weights import EPSILON, FastWeights, MiniBatches, Start, train_and_read
from saccade.types import LayerContext, UserError

RECORDED = Path(__file__).parents[1] / 'oracle' / 'recorded' / 'ttt_linear.npz'
F32_RELATIVE, F64_RELATIVE = 2e-5, 1e-10  # of the largest element
B, T, N, H, M = 2, 23, 2, 4, 5
# Documents of whole mini-batches and of parts, padding between them and none, and one that ends with a mini-batch.
SEGMENTS = np.array([[1] * 13 + [2] * 10, [0] + [1] * 2 + [2] * 5 + [0] * 2 + [3] + [4] * 11 + [0]])


def assert_near(given, expected, relative):
    given, expected = np.asarray(given), np.asarray(expected)
    assert np.isfinite(given).all()
    np.testing.assert_allclose(given, expected, rtol=0, atol=relative * np.abs(expected).max())


def recorded(name):
    """Return x, dy, y and dx, and the parameters of a layer of theirs."""
    with np.load(RECORDED) as file:
        leaves = {path: file[path] for path in file.files}
    own = {path: leaf for path, leaf in leaves.items() if path.startswith(f'{name}/params/')}
    params = unflatten_dict({path.split('/', 2)[2]: leaf for path, leaf in own.items()}, sep='/')
    return (leaves['x'], leaves['dy'], leaves[f'{name}/y'], leaves[f'{name}/dx']), params


def converted(theirs):
    """Their parameters in our form. They rotate features 2c and 2c + 1 together, ours c and c + H/2."""
    heads, H = theirs['ttt_norm']['scale'].shape
    order = np.r_[0:H:2, 1:H:2]

    def split(x):
        return rearrange(x, '... (N H) -> ... N H', N=heads)[..., order]

    def reordered(x):
        return rearrange(split(x), '... N H -> ... (N H)')

    params = {
        'query': split(theirs['wq']['kernel']),
        'key': split(theirs.get('wk', theirs['wq'])['kernel']),
        'value': split(theirs['wv']['kernel']),
        'output': np.moveaxis(split(theirs['wo']['kernel'].T), 0, -1),
        'weights': theirs['ttt_dense_0'][:, order][:, :, order],
        'weights_bias': theirs['ttt_bias_0'][:, 0, order],
        'norm_scale': theirs['ttt_norm']['scale'][:, order],
        'norm_bias': theirs['ttt_norm']['bias'][:, order],
        'rate': theirs['learnable_ttt_lr']['kernel'][..., 0].T,
        'rate_bias': theirs['learnable_ttt_lr']['bias'][:, 0],
        'place_bias': theirs['learnable_token_idx'],
        'merged_norm': {name: reordered(theirs['post_norm'][name]) for name in ('scale', 'bias')},
    }
    if 'wg' in theirs:  # values pass through our convolution unchanged
        taps, bias = ([reordered(theirs[f'conv_{of}'][name]) for of in 'qk'] for name in ('kernel', 'bias'))
        unchanged = np.zeros_like(taps[0]) + np.eye(len(taps[0]))[-1, :, None, None]
        params['gate'] = split(theirs['wg']['kernel'])
        params['convolution'] = {
            'output': np.concatenate([*taps, unchanged], axis=-1)[:, 0],
            'bias': np.concatenate([*bias, np.zeros_like(bias[0])]),
        }
    return {'params': jax.tree.map(jnp.asarray, params)}


SHORT = {'use': 'recurrent.mixer.convolution:Convolution', 'size': 4, 'depthwise': True}
BACKBONES = {'TTTLinearBase': {}, 'TTTLinear': {'convolution': SHORT, 'gate': {'use': 'jax.nn:gelu'}}}


@pytest.mark.oracle_of('attention.ttt_linear:TTTLinear', by='test-time-training/ttt-lm-jax')
@pytest.mark.long
@pytest.mark.parametrize('name', BACKBONES)
def test_outputs_and_gradients_are_those_that_the_authors_code_gave(name):
    """Three mini-batches of 16 tokens, with and without convolutions and a gate."""
    (x, dy, y, dx), theirs = recorded(name)
    mixer, params = TTTLinear(heads=2, **BACKBONES[name]), converted(theirs)
    run = jax.jit(lambda x: jax.vjp(lambda x: mixer.apply(params, x), x)[1](jnp.array(dy))[0])
    assert_near(mixer.apply(params, x), y, F32_RELATIVE)
    assert_near(run(x), dx, F32_RELATIVE)


def drawn():
    """q, k, v, r, c and the start of the models, in float64; no step is too large to matter."""
    random = np.random.default_rng(0)
    q, k, v = random.normal(size=(3, B, T, N, H))
    shapes = {'weights': (N, H + 1, H), 'scale': (N, H), 'bias': (N, H)}
    start = Start(**{name: jnp.array(random.normal(size=shape)) for name, shape in shapes.items()})
    return (
        jnp.array(q),
        jnp.array(k),
        jnp.array(v),
        jnp.array(random.random((B, T, N))),
        jnp.array(random.random(M)),
        start,
    )


@functools.cache
def expected_of_the_loop():
    return np.asarray(looped(*drawn()))


def looped(q, k, v, rate, factors, start):
    """Gradient descent on the loss of the paper, token by token, which makes every W_t; padding is 0."""

    def model(x, weights, scale, bias):
        z = jnp.append(x, 1.0) @ weights
        return x + scale * (z - z.mean()) / jnp.sqrt(z.var() + EPSILON) + bias

    def loss(weights, k, v, scale, bias):
        return ((model(k, weights, scale, bias) - v) ** 2).sum() / 2

    slope, apply = jax.jit(jax.vmap(jax.grad(loss))), jax.jit(jax.vmap(model))
    rows = []
    for b in range(B):
        y, newest = [], 0
        for t in range(T):
            if SEGMENTS[b, t] not in (0, newest):
                weights, newest, place = start.weights, SEGMENTS[b, t], 0
            if SEGMENTS[b, t]:
                if place % M == 0:
                    base, total = weights, 0.0
                total += rate[b, t, :, None, None] * slope(base, k[b, t], v[b, t], start.scale, start.bias)
                weights = base - factors[place % M] * total
                place += 1
            y.append(apply(q[b, t], weights, start.scale, start.bias) if SEGMENTS[b, t] else jnp.zeros((N, H)))
        rows.append(jnp.stack(y))
    return jnp.stack(rows)


def trained(q, k, v, rate, factors, start, chunk=64, counts=(T,)):
    """The same by the dual form, in several calls of so many tokens."""
    state, y = FastWeights.empty(B, N, H), []
    for end, count in zip(np.cumsum(counts), counts, strict=True):
        here, segments = slice(end - count, end), jnp.array(SEGMENTS[:, end - count : end])
        batches = MiniBatches.of(segments, state, M)
        tokens = (x[:, here] for x in (q, k, v, rate))
        part, state = train_and_read(*tokens, factors, start, batches, segments, state, chunk)
        y.append(part)
    return jnp.concatenate(y, axis=1)


@pytest.mark.long
@pytest.mark.parametrize('counts', [(T,), (3, 1, 11, 1, 7)], ids=['at once', 'in parts'])
@pytest.mark.parametrize('chunk', [1, 3, 64])
def test_the_dual_form_is_descent_step_by_step(chunk, counts):
    with jax.enable_x64(True):
        y = jax.jit(functools.partial(trained, chunk=chunk, counts=counts))(*drawn())
        assert y.dtype == jnp.float64
        real = SEGMENTS != 0
        assert_near(np.asarray(y)[real], expected_of_the_loop()[real], F64_RELATIVE)


@pytest.mark.long
def test_its_gradients_are_those_of_descent_step_by_step():
    with jax.enable_x64(True):
        given = drawn()
        weights = np.random.default_rng(1).normal(size=(B, T, N, H)) * (SEGMENTS != 0)[..., None, None]
        found, expected = (
            jax.grad(lambda given, run=run: (weights * run(*given)).sum())(given) for run in (trained, looped)
        )
        jax.tree.map(lambda one, other: assert_near(one, other, F64_RELATIVE), found, expected)


@pytest.mark.long
def test_a_pair_that_recurs_is_learnt():
    """The paper's training lowers its loss: keys and values that f can fit exactly are retrieved at the end."""
    random = np.random.default_rng(2)
    tokens, H = 1200, 8
    k = np.tile(random.normal(size=(3, H)), (tokens // 3 + 1, 1))[:tokens]
    change = random.normal(size=(3, H))
    change = (change - change.mean(-1, keepdims=True)) / change.std(-1, keepdims=True)
    v = k + np.tile(change, (tokens // 3 + 1, 1))[:tokens]
    k, v = (jnp.array(x[None, :, None], jnp.float32) for x in (k, v))
    start = Start(jnp.array(random.normal(size=(1, H + 1, H)), jnp.float32), jnp.ones((1, H)), jnp.zeros((1, H)))
    state, segments = FastWeights.empty(1, 1, H), jnp.ones((1, tokens), int)
    batches, rate = MiniBatches.of(segments, state, 4), jnp.full((1, tokens, 1), 0.1)
    y, _ = train_and_read(k, k, v, rate, jnp.ones(4), start, batches, segments, state, 4)
    losses = jnp.square(y - v).sum(axis=(0, 2, 3))
    assert losses[:3].min() > 1
    assert losses[-3:].max() < 0.01


@pytest.mark.long
def test_without_steps_each_token_is_by_itself():
    """Factors of 0, from a trained bias of -1 or less: the memory stays the start of the document."""
    x = jnp.array(np.random.default_rng(3).normal(size=(2, 7, 8)), jnp.float32)
    mixer = TTTLinear(heads=2, mini_batch=3, position={'use': 'position.none:NoPosition'})
    params = mixer.init(jax.random.key(0), x)['params']
    still = {'params': params | {'place_bias': jnp.full(3, -1.0)}}
    alone = mixer.apply(still, x.reshape(14, 1, 8)).reshape(2, 7, 8)
    assert_near(mixer.apply(still, x), alone, F32_RELATIVE)
    assert np.abs(mixer.apply({'params': params}, x) - alone).max() > 0.01


@pytest.mark.long
def test_the_state_holds_the_mini_batch_that_has_not_ended_as_one_sum():
    """Decoding continues within a mini-batch; the number of its tokens does not change the size."""
    mixer, x = TTTLinear(heads=2), jnp.ones((1, 21, 8))
    params = mixer.init(jax.random.key(0), x)
    state = mixer.apply(params, x[:, :1], 99, method='init_state')
    shapes = jax.tree.map(jnp.shape, state)
    context = LayerContext(jnp.arange(21)[None], jnp.ones((1, 21), int))
    _, state = mixer.apply(params, x, context, state, method='step')
    assert jax.tree.map(jnp.shape, state) == shapes
    assert state.count == 21
    assert np.abs(state.gradients).max() > 0


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'value_width': 6}, 'attention.ttt_linear:TTTLinear: value_width must be the width of keys, 4, not 6'),
        ({'position': {'use': 'position.alibi:ALiBi'}}, 'attention.ttt_linear:TTTLinear'),
    ],
)
def test_what_it_has_not_is_refused(fields, message):
    with pytest.raises(UserError, match=message):
        TTTLinear(heads=2, **fields).init(jax.random.key(0), jnp.zeros((1, 3, 8)))
