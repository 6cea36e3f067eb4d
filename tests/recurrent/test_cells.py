# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cells against plain loops of NumPy, and their gradients over long rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.recurrence import Carried
from saccade.types import UserError

F32_RELATIVE = 1e-6  # of the largest element
B, T, E, D = 3, 12, 5, 8
CELLS = ('rnn:RNN', 'lstm:LSTM', 'gru:GRU', 'slstm:SLSTM')


def cell(name, **more):
    return build({'use': f'recurrent.cell.{name}', 'width': D, **more})()


def normal(shape, number=0, scale=1.0):
    return jnp.array(np.random.default_rng(number).normal(size=shape, scale=scale), jnp.float32)


def drawn(module, inputs=E, scale=0.5):
    """Parameters of a cell, none of which is the zero or the one that it starts from."""
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), module.start(B), jnp.zeros((B, inputs))))
    return jax.tree.map(lambda leaf: normal(leaf.shape, leaf.size, scale), shapes)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn(h, c, x, U, W, b):
    return np.tanh(h @ W + x @ U + b), c


def lstm(h, c, x, U, W, b):
    i, f, g, o = np.split(h @ W + x @ U + b, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(h, c, x, U, W, b):
    squares = np.split(W, 3, axis=-1)
    shares = np.split(x @ U + b, 3, axis=-1)
    r, z = (sigmoid(h @ square + share) for square, share in zip(squares[:2], shares[:2], strict=True))
    n = np.tanh((r * h) @ squares[2] + shares[2])
    return z * h + (1 - z) * n, c


def slstm(h, memory, x, U, W, b):
    """The equations as they stand, without a stabiliser."""
    i, f, z, o = np.split(h @ W + x @ U + b, 4, axis=-1)
    c, n = memory if isinstance(memory, tuple) else (memory, memory)  # zeros, both
    c, n = sigmoid(f) * c + np.exp(i) * np.tanh(z), sigmoid(f) * n + np.exp(i)
    return sigmoid(o) * c / n, (c, n)


LOOPS = dict(zip(CELLS, (rnn, lstm, gru, slstm), strict=True))


def looped(name, params, x):
    weights = [np.asarray(params['params'][part], np.float64) for part in ('inputs', 'recurrent', 'bias')]
    h = c = np.zeros((B, D))
    found = []
    for t in range(x.shape[1]):
        h, c = LOOPS[name](h, c, np.asarray(x[:, t], np.float64), *weights)
        found.append(h)
    return np.stack(found, axis=1)


def ran(module, params, x, segments=None):
    """A cell over whole rows: all products of the inputs first, and then the loop."""
    weights = module.apply(params, x.shape[-1], method='recurrence')
    segments = jnp.ones(x.shape[:2], jnp.int32) if segments is None else segments
    start = Carried.before(module.start(x.shape[0]))
    return module.apply(params, weights, weights.products(x), segments, start, method='run')


@pytest.mark.parametrize('name', CELLS)
def test_a_cell_is_the_loop_that_its_equation_says(name):
    module, x = cell(name), normal((B, T, E))
    params = drawn(module, scale=0.25)  # a loop that lets differences fade, or roundings would grow from step to step
    expected = looped(name, params, x)
    state, steps = module.start(B), []
    for t in range(T):
        state, y = module.apply(params, state, x[:, t])
        steps.append(y)
    for found in (jnp.stack(steps, axis=1), ran(module, params, x)[0]):
        np.testing.assert_allclose(found, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.parametrize('name', CELLS)
def test_the_inputs_of_all_tokens_are_one_product_outside_of_the_loop(name):
    module = cell(name)
    jaxpr = jax.make_jaxpr(lambda params, x: ran(module, params, x))(drawn(module), normal((B, T, E)))
    (loop,) = (equation for equation in jaxpr.eqns if equation.primitive.name == 'scan')
    inside = str(loop.params['jaxpr']).count('dot_general')
    assert inside == (2 if name == 'gru:GRU' else 1)  # of the state alone


@pytest.mark.long
@pytest.mark.parametrize('name', ['lstm:LSTM', 'gru:GRU', 'slstm:SLSTM'])
def test_the_gradient_through_200_tokens_is_finite(name):
    module, x = cell(name), normal((B, 200, E))
    params = module.init(jax.random.key(0), module.start(B), x[:, 0])
    by_params, by_x = jax.jit(jax.grad(lambda params, x: ran(module, params, x)[0][:, -1].sum(), (0, 1)))(params, x)
    for leaf in jax.tree.leaves((by_params, by_x)):
        assert np.isfinite(leaf).all()
        assert np.abs(leaf).max() > 0


def test_the_forget_gate_begins_by_remembering():
    bias = cell('lstm:LSTM').bias().reshape(4, D)
    np.testing.assert_array_equal(bias, np.array([0.0, 1.0, 0.0, 0.0])[:, None] * np.ones(D))


@pytest.mark.long
@pytest.mark.parametrize('size', [1e4, -1e4])
def test_an_slstm_is_exact_at_gates_of_any_size(size):
    """The same for all tokens, they cancel: the memory is a mean of the candidates, weighted by how they are kept."""
    module, x = cell('slstm:SLSTM'), normal((B, T, E))
    params = drawn(module)
    bias = params['params']['bias'].at[D : 2 * D].set(100.0)
    weights = {**params['params'], 'inputs': params['params']['inputs'].at[:, : 2 * D].set(0.0)}
    weights['recurrent'] = weights['recurrent'].at[:, : 2 * D].set(0.0)

    def last(gate):
        given = {'params': {**weights, 'bias': bias.at[:D].set(gate)}}
        return ran(module, given, x)[0]

    np.testing.assert_allclose(last(size), last(0.0), rtol=0, atol=F32_RELATIVE)
    assert np.isfinite(jax.grad(lambda gate: last(gate).sum())(size))


@pytest.mark.long
@pytest.mark.parametrize(
    ('input_gate', 'forget_gate'),
    [
        ((-50, 60), (0, 0)),
        ((-50, 60), (-50, 60)),
        ((-150, 200), (60, -50)),
        ((200, -150), (4, 4)),
        ((200, -150), (4, -50)),
    ],
)
def test_an_slstm_is_its_loop_where_gates_rise_and_fall_within_a_row(input_gate, forget_gate):
    """Beside a loop in double precision, which needs no stabiliser; two features of a token set the gates alone."""
    module, x = cell('slstm:SLSTM'), normal((B, T, E))
    for feature, ends in enumerate((input_gate, forget_gate)):
        x = x.at[..., feature].set(jnp.linspace(*ends, T))
    params = drawn(module, scale=0.25)
    by_feature = params['params']['inputs'].at[:2].set(0.0)
    for feature in range(2):
        by_feature = by_feature.at[feature, feature * D : (feature + 1) * D].set(1.0)
    params['params']['inputs'] = by_feature
    found, expected = ran(module, params, x)[0], looped('slstm:SLSTM', params, x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    gradients = jax.grad(lambda params: jnp.square(ran(module, params, x)[0]).sum())(params)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients))


def test_the_heads_of_an_slstm_are_blocks_of_its_recurrent_weights():
    N, module, x = 4, cell('slstm:SLSTM', heads=4), normal((B, T, E))
    params = drawn(module)
    blocks = np.split(params['params']['recurrent'], 4 * N, axis=1)  # of each gate, those of all heads
    whole = np.zeros((4, D, D), np.float32)
    for number, block in enumerate(blocks):
        gate, head = divmod(number, N)
        at = slice(head * D // N, (head + 1) * D // N)
        whole[gate, at, at] = block
    one = {'params': params['params'] | {'recurrent': jnp.concatenate(whole, axis=-1)}}
    expected = ran(cell('slstm:SLSTM'), one, x)[0]
    np.testing.assert_allclose(ran(module, params, x)[0], expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


def test_heads_that_do_not_divide_the_width_of_an_slstm_are_refused():
    with pytest.raises(UserError, match=r'recurrent\.cell\.slstm:SLSTM: width 8 is not divisible by 3 heads'):
        drawn(cell('slstm:SLSTM', heads=3))


def test_each_square_of_the_recurrent_weights_starts_orthogonal():
    module = cell('gru:GRU')
    W = module.init(jax.random.key(0), module.start(B), jnp.zeros((B, E)))['params']['recurrent']
    for square in np.split(np.asarray(W), 3, axis=-1):
        np.testing.assert_allclose(square @ square.T, np.eye(D), atol=1e-5)


def gradient_by_distance(name, length=48):
    """The norm of dL/dx_t, where the loss L is of the last state alone, by how far t is from the end."""
    module, x = cell(name), normal((B, length, E), scale=0.5)
    params = module.init(jax.random.key(1), module.start(B), x[:, 0])
    by_x = jax.jit(jax.grad(lambda x: jnp.square(ran(module, params, x)[0][:, -1]).sum()))(x)
    return np.linalg.norm(by_x, axis=(0, 2))[::-1]


@pytest.mark.long
def test_the_gradient_of_the_plain_cell_vanishes_with_distance():
    norms = gradient_by_distance('rnn:RNN')
    slope, _ = np.polyfit(np.arange(len(norms)), np.log(norms), 1)
    assert slope < -0.05  # nats a token
    assert norms[-1] < 1e-2 * norms[0]
    # What a memory that is added to is for.
    assert gradient_by_distance('lstm:LSTM')[16] / gradient_by_distance('lstm:LSTM')[0] > norms[16] / norms[0]
