# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Which state looks at the source, what enters the cell, and what is made once or outside of the loop."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.recurrent.encoder import Encoded
from saccade.types import LayerContext

B, S, T, E, C, D = 1, 5, 3, 4, 6, 4
CELL = {'use': 'recurrent.cell.rnn:RNN', 'width': D}
SOFT = {'use': 'recurrent.decoder.soft:Soft', 'score': {'use': 'recurrent.score.general:General'}}
HARD = {'use': 'recurrent.decoder.hard:Hard', 'estimator': {'use': 'recurrent.decoder.reinforce:Reinforce'}}
BAHDANAU = {'use': 'recurrent.decoder.bahdanau:Bahdanau'}
LUONG = {'use': 'recurrent.decoder.luong:Luong', 'input_feeding': False}
FEEDING = {'use': 'recurrent.decoder.luong:Luong', 'input_feeding': True}


def normal(shape, number=0):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


SEGMENTS = jnp.ones((B, S), jnp.int32)
ENCODED = Encoded(normal((B, S, C), 1), normal((B, C), 2), (), SEGMENTS)
X, STATE = normal((B, T, E), 3), normal((B, D), 4)


@functools.cache
def decoder(kind, attention='soft', layers=1):
    given = {'bahdanau': BAHDANAU, 'luong': LUONG, 'feeding': FEEDING}[kind]
    looks = {'soft': SOFT, 'hard': {**SOFT, **HARD}}[attention]
    module = build({**given, 'cell': CELL, 'layers': layers, 'attention': looks})()

    def whole(module):
        return module(X, layer_context(T), module.begin(ENCODED, layers * (STATE,)), False)

    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), method=whole))
    return module, jax.tree.map(lambda leaf: normal(leaf.shape, leaf.size), shapes)


def layer_context(tokens):
    return LayerContext(jnp.arange(tokens)[None], jnp.ones((B, tokens), jnp.int32))


@functools.partial(jax.jit, static_argnames=('module', 'train', 'mutable'))
def written(module, params, x=X, cells=(STATE,), key=None, train=False, mutable=('pattern',)):
    def whole(module):
        return module(x, layer_context(x.shape[1]), module.begin(ENCODED, cells), train)[0]

    rngs = {} if key is None else {'dropout': key}
    return module.apply(params, method=whole, mutable=list(mutable), rngs=rngs)


def weights(kind, x, state):
    module, params = decoder(kind)
    _, reported = written(module, params, x, (state,))
    return reported['pattern']['pattern'].value[0, 0]


@pytest.mark.long
@pytest.mark.parametrize(('kind', 'current'), [('bahdanau', False), ('luong', True), ('feeding', True)])
def test_the_state_before_a_token_looks_or_the_one_after_it(kind, current):
    """The first look may depend on the first token only through the state after it."""
    by_x, by_state = jax.jacrev(functools.partial(weights, kind), (0, 1))(X, STATE)
    depends = np.abs(by_x).max(axis=(1, 2, -1))  # [of which look, on which token]
    np.testing.assert_array_equal(depends > 0, np.tri(T, T, 0 if current else -1, dtype=bool))
    assert np.abs(by_state[0]).max() > 0


def test_bahdanau_looks_with_the_state_that_it_is_given():
    _, params = decoder('bahdanau')
    score = np.asarray(params['params']['look']['score']['key'])
    scores = np.asarray(ENCODED.hidden[0]) @ score @ np.asarray(STATE[0])
    expected = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(weights('bahdanau', X, STATE)[0], expected, rtol=1e-4)


def test_luong_is_the_equations_one_after_another():
    module, params = decoder('feeding')
    own = jax.tree.map(np.asarray, params['params'])
    cell, hidden = own['layers']['layer_0'], np.asarray(ENCODED.hidden[0])
    s, fed, expected = np.asarray(STATE[0]), np.zeros(D), []
    for x in np.asarray(X[0]):
        s = np.tanh(s @ cell['recurrent'] + np.concatenate([x, fed]) @ cell['inputs'] + cell['bias'])
        scores = hidden @ own['look']['score']['key'] @ s
        context = np.exp(scores) / np.exp(scores).sum() @ hidden
        fed = np.tanh(np.concatenate([context, s]) @ own['joining']['kernel'])
        expected.append(fed)
    np.testing.assert_allclose(written(module, params)[0][0], np.stack(expected), atol=1e-5)


def test_bahdanau_is_the_equations_one_after_another():
    module, params = decoder('bahdanau')
    own = jax.tree.map(np.asarray, params['params'])
    cell, hidden = own['layers']['layer_0'], np.asarray(ENCODED.hidden[0])
    s, expected = np.asarray(STATE[0]), []
    for x in np.asarray(X[0]):
        scores = hidden @ own['look']['score']['key'] @ s
        context = np.exp(scores) / np.exp(scores).sum() @ hidden
        s = np.tanh(s @ cell['recurrent'] + np.concatenate([x, context]) @ cell['inputs'] + cell['bias'])
        pairs = np.concatenate([s, x, context]) @ own['readout']['kernel']
        expected.append(np.maximum(pairs[::2], pairs[1::2]))
    np.testing.assert_allclose(written(module, params)[0][0], np.stack(expected), atol=1e-4)


def loops(kind):
    """The products in the body of each scan of a decoder."""
    module, params = decoder(kind)
    jaxpr = jax.make_jaxpr(lambda params: written.__wrapped__(module, params, mutable=())[0])(params)
    return [str(found.params['jaxpr']).count('dot_general') for found in jaxpr.eqns if found.primitive.name == 'scan']


def test_without_input_feeding_the_loop_is_left_with_the_state_alone():
    assert loops('luong') == [1]
    # The state's and the context's products, scores, what is read.
    assert loops('bahdanau') == [4]
    # The same, and the attentional state.
    assert loops('feeding') == [5]


@pytest.mark.long
@pytest.mark.parametrize('kind', ['bahdanau', 'luong', 'feeding'])
def test_choices_are_reported_where_an_estimator_needs_them(kind):
    module, params = decoder(kind, 'hard')
    _, reported = written(module, params, key=jax.random.key(0), train=True, mutable=('choices', 'pattern'))
    (choices,) = reported['choices']['attention']
    drawn = reported['pattern']['pattern'].value
    assert {name: leaf.shape for name, leaf in choices.items()} == {
        'log_probability': (B, T),
        'baseline': (B, T),
    }
    assert (choices['log_probability'] < 0).all()
    np.testing.assert_array_equal(np.sort(drawn, axis=-1)[..., :-1], 0.0)
    assert 'choices' not in written(module, params, mutable=('choices', 'pattern'))[1]  # outside of training
