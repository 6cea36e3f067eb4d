# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The encoder: what it is made of, layers gone through several times, and what its heads and its states are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.model.stack import STATES, layer_states
from saccade.types import EncoderModel, LayerContext, Reading, UserError

F32_RELATIVE = 1e-5
B, T, V, D, E = 2, 7, 11, 8, 4
TOKENS = jnp.array(np.random.default_rng(0).integers(0, V, (B, T)))
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)), jnp.ones((B, T), int))
NORM = {'use': 'norm.layer:LayerNorm'}
HEAD = {'use': 'head.each_token:EachToken', 'classes': 3}
MASKED = {'use': 'head.masked:Masked', 'activation': {'use': 'jax.nn:gelu'}, 'norm': NORM}


def spec(**changes):
    block = {
        'use': 'block.post_norm:PostNorm',
        'mixer': {
            'use': 'attention.multi_head:MultiHead',
            'heads': 2,
            'kernel': {'use': 'attention.plain:Plain'},
            'mask': {'use': 'ops.mask:Full'},
            'position': {'use': 'position.none:NoPosition'},
        },
        'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}},
        'norm': NORM,
    }
    own = {
        'use': 'model.encoder:Encoder',
        'vocabulary': V,
        'context_length': T,
        'width': D,
        'layers': 2,
        'block': block,
        'position': {'use': 'position.learned:Learned', 'length': T},
        'norm': {'use': 'norm.none:NoNorm'},
        'run': {'use': 'model.stack:Unrolled'},
        'heads': {'tokens': HEAD},
    }
    return own | changes


def made(**changes):
    model = build(spec(**changes))()
    params = jax.jit(lambda key: model.init(key, TOKENS, CONTEXT, False)['params'])(jax.random.key(0))
    return model, params


def near(a, b):
    np.testing.assert_allclose(a, b, rtol=F32_RELATIVE, atol=F32_RELATIVE)


@pytest.mark.long
def test_it_is_an_encoder_and_has_a_head_of_each_name():
    model, params = made(heads={'tokens': HEAD, 'masked': MASKED})
    assert isinstance(model, EncoderModel)
    assert {'tokens_head', 'masked_head'} <= params.keys()
    at = jnp.array([[0, 3], [6, 6]])
    outputs = model.apply({'params': params}, TOKENS, CONTEXT, False, at)
    everywhere = model.apply({'params': params}, TOKENS, CONTEXT, False)['masked']
    assert outputs['tokens'].shape == (B, T, 3)
    near(outputs['masked'], jnp.take_along_axis(everywhere, at[..., None], axis=1))


@pytest.mark.long
@pytest.mark.parametrize('run', ['Unrolled', 'Scanned'])
def test_passes_are_layers_of_the_same_weights(run):
    shared, params = made(layers=1, passes=3, run={'use': f'model.stack:{run}'})
    whole = build(spec(layers=3))()
    same = {**params, 'layers': jax.tree.map(lambda leaf: jnp.repeat(leaf, 3, axis=0), params['layers'])}
    assert {leaf.shape[0] for leaf in jax.tree.leaves(params['layers'])} == {1}
    near(
        *(
            model.apply({'params': p}, TOKENS, CONTEXT, False)['tokens']
            for model, p in ((shared, params), (whole, same))
        )
    )


@pytest.mark.long
@pytest.mark.parametrize(('layers', 'passes'), [(2, 1), (1, 3), (2, 2)])
def test_states_are_the_embedded_tokens_and_what_each_layer_makes_of_them(layers, passes):
    model, params = made(layers=layers, passes=passes)
    outputs, reported = model.apply({'params': params}, TOKENS, CONTEXT, False, mutable=STATES)
    states = layer_states(reported)
    assert len(states) == 1 + layers * passes
    near(states[0], params['embedding'][TOKENS] + params['position']['positions'])
    near(outputs['tokens'], states[-1] @ params['tokens_head']['output'])  # the norm is none, the bias zero


@pytest.mark.long
def test_states_of_a_pattern_come_in_the_order_of_the_layers():
    block = spec()['block']
    model, params = made(block=[block, block | {'use': 'block.pre_norm:PreNorm'}], layers=4)
    _, reported = model.apply({'params': params}, TOKENS, CONTEXT, False, mutable=STATES)
    states = layer_states(reported)
    first = build(spec(block=block, layers=1))()
    alone = {**params, 'layers': {'pattern_0': jax.tree.map(lambda leaf: leaf[:1], params['layers']['pattern_0'])}}
    _, of_first = first.apply({'params': alone}, TOKENS, CONTEXT, False, mutable=STATES)
    assert len(states) == 5
    near(states[1], layer_states(of_first)[1])


@pytest.mark.long
def test_types_are_added_and_are_0_where_none_are_given():
    model, params = made(types=2)
    plain, zeros, ones = (
        model.apply({'params': params}, TOKENS, CONTEXT.replace(types=types), False)['tokens']
        for types in (None, jnp.zeros((B, T), int), jnp.ones((B, T), int))
    )
    near(plain, zeros)
    assert np.abs(np.asarray(ones - plain)).max() > 1e-3


@pytest.mark.long
def test_a_factorised_embedding_is_narrow_until_it_is_widened():
    _, params = made(embedding_width=E, embedding_norm=NORM, types=2, heads={'masked': MASKED})
    assert params['embedding'].shape == (V, E)
    assert params['position']['positions'].shape == (T, E)
    assert params['embedding_norm']['scale'].shape == (E,)
    assert params['embedding_output'].shape == (E, D)
    assert params['masked_head']['hidden'].shape == (D, E)


@pytest.mark.long
def test_padding_changes_nothing_that_is_there():
    model, params = made()
    segments = jnp.where(jnp.arange(T) < 5, 1, 0) * jnp.ones((B, 1), int)
    outputs = [
        model.apply({'params': params}, TOKENS.at[:, 5:].set(token), CONTEXT.replace(segments=segments), False)[
            'tokens'
        ]
        for token in (0, 7)
    ]
    near(outputs[0][:, :5], outputs[1][:, :5])


@pytest.mark.long
def test_every_token_sees_what_follows_it():
    model, params = made()
    first, other = (
        model.apply({'params': params}, TOKENS.at[:, -1].set(token), CONTEXT, False)['tokens'] for token in (1, 2)
    )
    assert (np.abs(np.asarray(first - other)).max(axis=-1) > 1e-6).all()


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'context_length': T - 1}, 'does not fit the context of .*: data.context_length'),
        ({'passes': 0}, 'passes must be at least 1'),
        ({'dropout': 1.0}, 'dropout must be at least 0 and below 1'),
        ({'heads': {'tokens': HEAD | {'classes': 0}}}, 'classes must be at least 1'),
    ],
)
def test_what_cannot_be_is_refused(changes, words):
    with pytest.raises(UserError, match=words):
        made(**changes)


@pytest.mark.long
def test_a_hidden_layer_of_a_head_has_a_norm_after_its_activation():
    head = {**HEAD, 'activation': {'use': 'jax.numpy:tanh'}, 'hidden_norm': NORM, 'hidden_bias': False}
    model = build({'use': 'head.each_token:EachToken', **head})()
    x = jax.random.normal(jax.random.key(0), (B, T, D))
    params = model.init(jax.random.key(1), x, Reading(CONTEXT, None))['params']
    assert params.keys() == {'hidden', 'hidden_norm', 'output', 'output_bias'}
    y = jnp.tanh(x @ params['hidden'])
    y = (y - y.mean(-1, keepdims=True)) / jnp.sqrt(y.var(-1, keepdims=True) + 1e-5)
    near(model.apply({'params': params}, x, Reading(CONTEXT, None)), y @ params['output'])
    with pytest.raises(UserError, match='hidden_norm has no effect without activation'):
        build({**HEAD, 'hidden_norm': NORM})().init(jax.random.key(1), x, Reading(CONTEXT, None))
