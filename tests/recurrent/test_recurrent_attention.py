# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of recurrent decoders: scores against closed forms, what a look reads, and what it costs."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.flops import flops
from saccade.recurrent.decoder.attention_base import over_source
from saccade.types import LayerContext, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, S, D, C, A = 2, 4, 9, 6, 5, 3
REACH = 2
SEGMENTS = jnp.array([[1] * S, [0, 1, 1, 1, 1, 1, 1, 0, 0]])  # the second is padded on both sides

DOT, GENERAL = {'use': 'recurrent.score.dot:Dot'}, {'use': 'recurrent.score.general:General'}
ADDITIVE = {'use': 'recurrent.score.additive:Additive', 'width': A}
KINDS = {
    'soft': {'use': 'recurrent.decoder.soft:Soft'},
    'hard': {
        'use': 'recurrent.decoder.hard:Hard',
        'estimator': {'use': 'recurrent.decoder.straight_through:StraightThrough'},
    },
    'local-m': {'use': 'recurrent.decoder.local_monotonic:LocalMonotonic', 'reach': REACH},
    'local-p': {'use': 'recurrent.decoder.local_predictive:LocalPredictive', 'reach': REACH},
}


def normal(shape, number=0):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


STATES, HIDDEN = normal((B, T, D), 1), normal((B, S, C), 2)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)), jnp.array([[1] * T, [1, 1, 1, 0]]))


@functools.cache
def attention(kind, score='general', query_width=D, key_width=C):
    """An attention part and its parameters, drawn."""
    score = {'dot': DOT, 'general': GENERAL, 'additive': ADDITIVE}[score]
    module = build({**KINDS[kind], 'score': score})()
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), query_width, key_width))
    return module, jax.tree.map(lambda leaf: normal(leaf.shape, leaf.size), shapes)


@functools.partial(jax.jit, static_argnums=0)
def looked(module, params, states=STATES, hidden=HIDDEN, key=None):
    attender = module.apply(params, states.shape[-1], hidden.shape[-1])
    return attender(states, CONTEXT, attender.encode_source(hidden, SEGMENTS), key)


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


def softmax(scores, allowed):
    weights = np.where(allowed, np.exp(scores), 0.0)
    return weights / np.maximum(weights.sum(-1, keepdims=True), 1e-30)


def closed_form(score, params, states, hidden):
    """Scores [B T S] as the papers write them, with a loop over the pairs."""
    own = {name: np.asarray(leaf) for name, leaf in params.get('params', {}).get('score', {}).items()}

    def one(s, h):
        if score == 'dot':
            return s @ h
        if score == 'general':
            return h @ own['key'] @ s
        together = np.concatenate([s, h]) @ np.concatenate([own['query'], own['key']])  # W [s ; h]
        return np.tanh(together) @ own['out'][:, 0]

    return np.array([[[one(s, h) for h in row] for s in states[b]] for b, row in enumerate(np.asarray(hidden))])


ALLOWED = (np.asarray(SEGMENTS)[:, None] == 1) & (np.asarray(CONTEXT.segments)[..., None] == 1)


@pytest.mark.parametrize('score', ['dot', 'general', 'additive'])
def test_weights_and_context_are_as_the_closed_form_says(score):
    hidden = normal((B, S, D), 3) if score == 'dot' else HIDDEN
    module, params = attention('soft', score, D, hidden.shape[-1])
    look = looked(module, params, STATES, hidden)
    weights = softmax(closed_form(score, params, np.asarray(STATES), hidden), ALLOWED)
    assert_near(look.weights, weights)
    context = sum(weights[..., j, None] * np.asarray(hidden)[:, None, j] for j in range(S))
    assert_near(look.context, context)
    np.testing.assert_array_equal(look.weights * ~ALLOWED, 0.0)


def test_a_product_of_different_widths_is_refused_in_one_line():
    with pytest.raises(UserError, match=r"states are 6 wide and the source's 5; .* recurrent.score.general:General"):
        attention('soft', 'dot')


@pytest.mark.parametrize('kind', KINDS)
def test_every_kind_is_called_alike_and_reads_no_padding(kind):
    module, params = attention(kind)
    look = looked(module, params)
    assert look.context.shape == (B, T, C)
    np.testing.assert_array_equal(look.context[1, -1], 0.0)  # of a state that is none
    weights = over_source(look, S)
    assert weights.shape == (B, 1, T, S)
    np.testing.assert_array_equal(weights[:, 0] * ~ALLOWED, 0.0)
    assert_near(look.context, jnp.einsum('BTS,BSC->BTC', weights[:, 0], HIDDEN))
    other = looked(module, params, STATES, jnp.where(SEGMENTS[..., None] == 0, 100.0, HIDDEN))
    np.testing.assert_array_equal(other.context, look.context)


@pytest.mark.parametrize('kind', ['local-m', 'local-p'])
def test_a_local_look_is_the_closed_form_within_its_window(kind):
    module, params = attention(kind)
    weights = over_source(looked(module, params), S)[:, 0]
    own = {name: np.asarray(leaf) for name, leaf in params['params'].items() if name != 'score'}
    scores, length, start = closed_form('general', params, np.asarray(STATES), HIDDEN), [9, 6], [0, 1]
    for b in range(B):
        for t in range(T - b):
            share = 0.0
            if kind == 'local-p':
                share = 1 / (1 + np.exp(-np.tanh(np.asarray(STATES)[b, t] @ own['hidden']) @ own['out'][:, 0]))
            p = start[b] + (min(t, length[b] - 1) if kind == 'local-m' else (length[b] - 1) * share)
            distance = np.arange(S) - p
            near = (np.abs(distance) <= REACH) & ALLOWED[b, t]
            faded = np.exp(-(distance**2) / (2 * (REACH / 2) ** 2)) if kind == 'local-p' else 1.0
            np.testing.assert_allclose(weights[b, t], softmax(scores[b, t], near) * faded, atol=1e-5)
            np.testing.assert_array_equal(weights[b, t][~near], 0.0)


@pytest.mark.parametrize('kind', KINDS)
def test_a_local_look_costs_the_same_at_any_length_of_the_source(kind):
    def cost(length):
        module, params = attention(kind)
        attender = module.apply(params, D, C)
        memory = attender.encode_source(jnp.zeros((B, length, C)), jnp.ones((B, length), int))
        return flops(lambda states, memory: attender(states, CONTEXT, memory, None).context, STATES, memory)

    assert (cost(128) == cost(1024)) == kind.startswith('local')


def test_where_a_predicted_window_lies_is_learned():
    module, params = attention('local-p')
    gradient = jax.grad(lambda params: (looked(module, params).context * normal((B, T, C), 4)).sum())(params)
    assert all(np.abs(gradient['params'][name]).max() > 0 for name in ('hidden', 'out'))


def test_one_position_is_read_and_it_is_the_likeliest_outside_of_training():
    module, params = attention('hard')
    soft, hard = looked(attention('soft')[0], params), looked(module, params)
    np.testing.assert_array_equal(np.sort(hard.weights, axis=-1)[..., :-1], 0.0)
    np.testing.assert_array_equal(hard.weights.max(-1), ALLOWED.any(-1))
    np.testing.assert_array_equal(hard.weights.argmax(-1), soft.weights.argmax(-1))


def test_in_training_positions_are_drawn_by_their_odds():
    module, params = attention('hard')
    odds = looked(attention('soft')[0], params).weights
    keys = jax.random.split(jax.random.key(0), 4000)
    counted = jax.vmap(lambda key: looked(module, params, key=key).weights)(keys)
    np.testing.assert_array_equal(np.sort(counted, axis=-1)[..., :-1], 0.0)
    # Four standard errors of a share.
    np.testing.assert_allclose(counted.mean(0), odds, atol=4 * 0.5 / 4000**0.5)


def test_the_choice_itself_has_no_gradient():
    module, params = attention('hard')
    gradient = jax.grad(lambda params: looked(module, params).context.sum())(params)
    np.testing.assert_array_equal(gradient['params']['score']['key'], 0.0)
