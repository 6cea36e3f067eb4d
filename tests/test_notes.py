# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the lecture notes that the project started from, as docs/errata.md lists them: what is right, and that the
form of the notes is not.
"""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.norm.layer import LayerNorm
from saccade.ops.mask import Causal, Full
from saccade.ops.scoring import Scoring
from saccade.types import LayerContext, Source

ERRATA = (Path(__file__).parents[1] / 'docs/errata.md').read_text()
EXACT = 1e-5  # float32, sums in another order
B, T, S, D, N = 2, 6, 4, 8, 2
H = D // N


def normal(*shape, number=0):
    return jnp.asarray(np.random.default_rng(number).normal(size=shape), jnp.float32)


def heads(length, number):
    return normal(B, length, N, H, number=number)


def attended(mask, q, k, v):
    return Scoring(mask).attend(q, k, v)


def drawn(stddev=0.5):
    return {'use': 'jax.nn.initializers:normal', 'stddev': stddev}


def mixer(**changes):
    spec = {
        'use': 'attention.multi_head:MultiHead',
        'heads': N,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Full'},
        'position': {'use': 'position.none:NoPosition'},
        'kernel_init': drawn(),
        'output_init': drawn(),
    }
    return {**spec, **changes}


def context(length=T, **more):
    return LayerContext(jnp.tile(jnp.arange(length), (B, 1)), **more)


def test_the_exponential_stands_in_the_denominator_too():
    q, k, v = heads(T, 0), heads(T, 1), heads(T, 2)
    _, weights = attended(Full(), q, k, v)
    scores = jnp.einsum('BTNH,BSNH->BNTS', q, k)
    right = jnp.exp(scores) / jnp.exp(scores).sum(-1, keepdims=True)
    noted = jnp.exp(scores) / scores.sum(-1, keepdims=True)
    np.testing.assert_allclose(weights, right, atol=EXACT)
    np.testing.assert_allclose(right.sum(-1), 1, atol=EXACT)
    assert noted.min() < 0  # a sum of scores may have any sign


@pytest.mark.long
def test_minus_infinity_goes_into_the_scores_and_zero_comes_out_as_the_weight():
    q, k, v = heads(T, 0), heads(T, 1), heads(T, 2)
    mixed, weights = attended(Causal(), q, k, v)
    for i in range(T):  # as if the keys grew with every step
        alone, _ = attended(Full(), q[:, i : i + 1], k[:, : i + 1], v[:, : i + 1])
        np.testing.assert_allclose(mixed[:, i : i + 1], alone, atol=EXACT)
    seen = jnp.tril(jnp.ones((T, T)))
    assert (weights * (1 - seen) == 0).all()
    scores = jnp.einsum('BTNH,BSNH->BNTS', q, k)
    zero_weights, zero_scores = seen * jax.nn.softmax(scores), jax.nn.softmax(seen * scores)
    assert zero_weights.sum(-1)[..., 0].max() < 0.9  # what is left of a row no longer sums to one
    assert (zero_scores * (1 - seen)).max() > 0.05  # and exp(0) is 1: the future is seen


def test_the_second_matrix_leads_back_to_the_width():
    F = 5 * D
    layer = build({'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:relu'}, 'ratio': 5.0, 'bias': True})()
    x = normal(B, T, D)
    params = layer.init(jax.random.key(0), x, False)['params']
    up, down = params['up'], params['down']
    assert (up.shape, down.shape) == ((D, F), (F, D))  # W1 is F x D and W2 is D x F where vectors are columns
    columns = down.T @ jax.nn.relu(up.T @ x[0].T + params['up_bias'][:, None]) + params['down_bias'][:, None]
    np.testing.assert_allclose(layer.apply({'params': params}, x, False)[0], columns.T, atol=EXACT)


def test_layer_norm_gives_mean_zero_and_deviation_one():
    x = 16 * normal(B, T, D) + 3
    y = LayerNorm(epsilon=1e-6, scale=False, bias=False).apply({}, x)
    np.testing.assert_allclose(y.mean(-1), 0, atol=EXACT)
    np.testing.assert_allclose(y.std(-1), 1, atol=EXACT)
    noted = (x - x.mean(-1, keepdims=True)) / (jnp.sqrt(x.std(-1, keepdims=True)) + 1e-6)
    assert noted.std(-1).min() > 2  # of the root of the deviation, another one remains


@pytest.mark.long
def test_the_width_over_the_number_of_heads_is_the_width_of_each():
    x = normal(B, T, D)
    for count in (1, 2, 4, 8):
        params = build(mixer(heads=count))().init(jax.random.key(0), x, context(), False)['params']
        assert params['query'].shape == (D, count, D // count)


@pytest.mark.long
def test_the_residual_adds_the_layers_own_input_also_where_it_reads_another_sequence():
    x, source = normal(B, T, D), normal(B, S, D, number=1)
    feedforward = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:relu'}, 'output_init': drawn(0.0)}
    branches = {'mixer': mixer(output_init=drawn(0.0)), 'feedforward': feedforward}
    block = build({'use': 'block.pre_norm:PreNorm', 'norm': {'use': 'norm.layer:LayerNorm'}, **branches})()
    reading = context(source=Source(source, jnp.tile(jnp.arange(S), (B, 1))))
    params = block.init(jax.random.key(0), x, reading, False)
    np.testing.assert_array_equal(block.apply(params, x, reading, False), x)


def test_what_the_heads_have_read_is_concatenated_and_not_their_values():
    x = normal(B, T, D)
    layer = build(mixer())()
    params = layer.init(jax.random.key(0), x, context(), False)['params']
    q, k, v = (jnp.einsum('BTD,DNH->BTNH', x, params[name]) for name in ('query', 'key', 'value'))
    read = jnp.einsum('BNTS,BSNH->BTNH', jax.nn.softmax(jnp.einsum('BTNH,BSNH->BNTS', q, k) / H**0.5), v)
    y = layer.apply({'params': params}, x, context(), False)
    right, noted = (jnp.einsum('BTNH,NHD->BTD', each, params['output']) for each in (read, v))
    np.testing.assert_allclose(y, right, atol=EXACT)
    assert jnp.abs(y - noted).max() > 0.1


def test_two_layers_without_a_nonlinearity_multiply_their_weights_over_the_token_between():
    layer, x = build(mixer(heads=1))(), normal(B, T, D)
    first, second = (layer.init(jax.random.key(number), x, context(), False)['params'] for number in (0, 1))

    def attended(params, x):
        y, reported = layer.apply({'params': params}, x, context(), False, mutable=['pattern'])
        (weights,) = jax.tree.leaves(reported)
        return y, weights[:, 0]

    def value(params):
        return jnp.einsum('DNH,NHE->DE', params['value'], params['output'])

    hidden, below = attended(first, x)
    y, above = attended(second, hidden)
    weights = jnp.einsum('Bij,Bjk->Bik', above, below)  # summed over j, which the notes sum out one factor at a time
    right, noted = (
        jnp.einsum('Bik,BkD,DE->BiE', each, x, value(first) @ value(second))
        for each in (weights, below * above.sum(-1, keepdims=True))
    )
    np.testing.assert_allclose(weights.sum(-1), 1, atol=EXACT)
    np.testing.assert_allclose(y, right, atol=EXACT)
    assert jnp.abs(y - noted).max() > 0.1


def test_more_heads_of_the_same_width_in_all_cost_no_more_parameters():
    def count(heads):
        params = jax.eval_shape(
            lambda: build(mixer(heads=heads))().init(jax.random.key(0), normal(B, T, D), context(), False)
        )
        return sum(leaf.size for leaf in jax.tree.leaves(params))

    assert count(1) == count(2) == count(8)


def test_a_row_times_the_concatenation_gives_every_query_the_same_weights():
    source, states = normal(B, S, D), normal(B, T, D, number=1)
    both = jnp.concatenate([jnp.tile(source[:, None], (1, T, 1, 1)), jnp.tile(states[:, :, None], (1, 1, S, 1))], -1)
    noted = jax.nn.softmax(both @ normal(2 * D, number=2))
    np.testing.assert_allclose(noted, jnp.tile(noted[:, :1], (1, T, 1)), atol=EXACT)
    score = build({'use': 'recurrent.score.additive:Additive', 'width': 2 * D})()
    params = score.init(jax.random.key(0), D, D)
    function = score.apply(params, D, D)
    scores = Scoring(Full(), function.terms, function.scale)
    k = (source @ function.key)[:, :, None]
    _, weights = scores.attend(function.queries(states, k), k, source[:, :, None])
    assert jnp.abs(weights - weights[:, :, :1]).max() > 0.01


def test_attention_is_no_linear_map_although_it_is_one_of_its_values():
    layer, x, more = build(mixer(heads=1))(), normal(B, T, D), normal(B, T, D, number=1)
    params = layer.init(jax.random.key(0), x, context(), False)

    def attended(x):
        y, reported = layer.apply(params, x, context(), False, mutable=['pattern'])
        (weights,) = jax.tree.leaves(reported)
        return y, weights[:, 0]

    def mixed(x):
        kernel = jnp.einsum('DNH,NHE->DE', params['params']['value'], params['params']['output'])
        return jnp.einsum('Bij,BjD,DE->BiE', attended(x)[1], x, kernel)

    np.testing.assert_allclose(attended(x)[0], mixed(x), atol=EXACT)  # linear in its values, at these weights
    apart, together = attended(x)[0] + attended(more)[0], attended(x + more)[0]
    assert jnp.abs(apart - together).max() > 0.1


def test_what_a_head_returns_has_the_width_of_its_values():
    x = normal(B, T, D)
    q, k, v = (jnp.einsum('BTD,DNH->BTNH', x, normal(D, 1, H, number=number)) for number in (0, 1, 2))
    z, weights = attended(Full(), q, k, v)
    assert (x.shape, weights.shape, z.shape) == ((B, T, D), (B, 1, T, T), (B, T, 1, H))


def test_an_encoder_keeps_a_vector_of_the_width_for_each_token():
    feedforward = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:relu'}, 'ratio': 4.0}
    norm = {'use': 'norm.layer:LayerNorm'}
    encoder = build(
        {
            'use': 'model.encoder:Encoder',
            'vocabulary': 11,
            'context_length': T,
            'width': D,
            'layers': 2,
            'position': {'use': 'position.none:NoPosition'},
            'norm': norm,
            'run': {'use': 'model.stack:Unrolled'},
            'block': {'use': 'block.pre_norm:PreNorm', 'norm': norm, 'mixer': mixer(), 'feedforward': feedforward},
            'heads': {},
        }
    )()
    tokens = jnp.zeros((B, T), jnp.int32)
    params = encoder.init(jax.random.key(0), tokens, context(), False, method='encode')
    x, _ = encoder.apply(params, tokens, context(), False, method='encode')
    assert x.shape == (B, T, D)


@pytest.mark.parametrize('name', [name for name in list(globals()) if name.startswith('test_')])
def test_the_errata_list_each_error_with_its_test(name):
    assert f'`{name}`' in ERRATA


def test_the_errata_name_no_test_that_is_not_here():
    assert set(re.findall(r'`(test_\w+)`', ERRATA)) <= set(globals())
