# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention with a small cache against loops, on every path; and the bytes that a token leaves to decode with."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn import drawn

from saccade.build import build
from saccade.types import LayerContext, Source, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D = 2, 7, 16
N, K, H, RH = 4, 2, 6, 2  # query heads, groups, width of a head, of its rotated part
R, V = 5, 3  # of latents
BASE = 10.0
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
PLAIN = {'use': 'attention.plain:Plain'}
BLOCKWISE = {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 3}
NO_POSITION, ROTARY = {'use': 'position.none:NoPosition'}, {'use': 'position.rotary:Rotary', 'base': BASE}
FORGETS = {'use': 'score.forget_gate:ForgetGate'}
COMMON = {'heads': N, 'kernel': PLAIN, 'mask': {'use': 'ops.mask:Causal'}, 'position': ROTARY}
HEADED = {**COMMON, 'head_width': H}
MULTI_HEAD = {**HEADED, 'use': 'attention.multi_head:MultiHead'}
LATENT = {
    **COMMON,
    'use': 'attention.latent:Latent',
    'rank': R,
    'head_width': H,
    'value_width': V,
    'rotated_width': RH,
    'norm': {'use': 'norm.rms:RMSNorm'},
}
GROUPED_LATENT = {**LATENT, 'use': 'attention.grouped_latent:GroupedLatent', 'latents': K}
PRODUCT = {
    **HEADED,
    'use': 'attention.tensor_product:TensorProduct',
    'query_rank': 3,
    'key_rank': 2,
    'value_rank': 5,
}
TIED = {**HEADED, 'use': 'attention.grouped_tied:GroupedTied', 'key_value_heads': K, 'rotated_width': RH}


def made(spec, **changes):
    return drawn({**spec, **changes}, X, CONTEXT)


def run(spec, params, context=CONTEXT):
    return build(spec)().apply({'params': params}, X, context, False)


def numpy_of(params):
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params['params'])


def turned(x, position):
    """Features turned by angles that grow with the position: pairs are a feature and that half the width later."""
    half = len(x) // 2
    y = np.zeros_like(x)
    for c in range(half):
        angle = position * BASE ** (-2 * c / len(x))
        y[c] = x[c] * np.cos(angle) - x[c + half] * np.sin(angle)
        y[c + half] = x[c] * np.sin(angle) + x[c + half] * np.cos(angle)
    return y


def normed(x, scale):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * scale


def attended(query, keys, values):
    weights = np.exp(np.array(keys) @ query / np.sqrt(len(query)))
    return weights / weights.sum() @ np.array(values)


def looped_latent(params):
    """The paper's equations, one query and one head at a time."""
    p, x = numpy_of(params), np.asarray(X, np.float64)
    y = np.zeros((B, T, D))
    for b, t, n in np.ndindex(B, T, N):
        group = n // (N // K)
        query = x[b, t] @ p['query'][:, n]
        query = np.concatenate([query[:H], turned(query[H:], t)])
        latents = [normed(x[b, s] @ p['latent'][:, group], p['latent_norm']['scale']) for s in range(t + 1)]
        keys = [
            np.concatenate([latent @ p['key'][:, n], turned(x[b, s] @ p['rotated_key'], s)])
            for s, latent in enumerate(latents)
        ]
        y[b, t] += attended(query, keys, np.array(latents) @ p['value'][:, n]) @ p['output'][n]
    return y


def looped_tied(params):
    p, x = numpy_of(params), np.asarray(X, np.float64)
    y = np.zeros((B, T, D))
    for b, t, n in np.ndindex(B, T, N):
        query = x[b, t] @ p['query'][:, n]
        query = np.concatenate([query[: H - RH], turned(query[H - RH :], t)])
        states = [x[b, s] @ p['value'][:, n // (N // K)] for s in range(t + 1)]
        keys = [
            np.concatenate([state[: H - RH], turned(x[b, s] @ p['key'][:, 0], s)]) for s, state in enumerate(states)
        ]
        y[b, t] += attended(query, keys, states) @ p['output'][n]
    return y


def looped_product(params):
    p, x = numpy_of(params), np.asarray(X, np.float64)

    def summed(name, b, t, n, position=0):
        parts = [
            (x[b, t] @ heads[:, n]) * turned(x[b, t] @ features, position)
            for heads, features in zip(
                np.moveaxis(p[f'{name}_heads'], 1, 0), np.moveaxis(p[f'{name}_features'], 1, 0), strict=True
            )
        ]
        return np.mean(parts, axis=0)

    y = np.zeros((B, T, D))
    for b, t, n in np.ndindex(B, T, N):
        keys = [summed('key', b, s, n, s) for s in range(t + 1)]
        values = [summed('value', b, s, n) for s in range(t + 1)]
        y[b, t] += attended(summed('query', b, t, n, t), keys, values) @ p['output'][n]
    return y


LOOPS = {
    'grouped latent': (GROUPED_LATENT, looped_latent),
    'grouped tied': (TIED, looped_tied),
    'tensor product': (PRODUCT, looped_product),
}


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize('kernel', [PLAIN, BLOCKWISE])
@pytest.mark.parametrize('name', LOOPS)
def test_it_is_its_equations(name, kernel):
    spec, looped = LOOPS[name]
    module, params = made(spec, kernel=kernel)
    assert_near(module.apply(params, X, CONTEXT, False), looped(params))


def in_steps(module, params):
    state, outputs = module.apply(params, X[:, :1], T, method='init_state'), []
    for start, stop in ((0, 3), (3, 4), (4, 7)):
        context = LayerContext(CONTEXT.positions[:, start:stop])
        y, state = module.apply(params, X[:, start:stop], context, state, method='step')
        outputs.append(y)
    return jnp.concatenate(outputs, axis=1)


@pytest.mark.long
@pytest.mark.parametrize('name', LOOPS)
def test_steps_give_the_whole_sequence(name):
    spec, looped = LOOPS[name]
    module, params = made(spec)
    assert_near(in_steps(module, params), looped(params))


GATED = {'terms': [FORGETS, {'use': 'score.forget_gate:ForgetGate'}], 'position': NO_POSITION}
HEADED_ALIKE = {
    'features that terms read': GATED,
    'a window': {'mask': {'use': 'ops.mask:Window', 'left': 2}},
    'fused, with biases': {'fused': True, 'bias': True},
}


@pytest.mark.long
@pytest.mark.parametrize('spec', [TIED, {**PRODUCT, 'key_value_heads': K}, {**PRODUCT, 'query_rank': None}])
@pytest.mark.parametrize('change', HEADED_ALIKE)
def test_what_multi_head_attention_can_be_given_they_can_be_given(change, spec):
    module, params = made(spec, **HEADED_ALIKE[change])
    assert_near(in_steps(module, params), module.apply(params, X, CONTEXT, False))


@pytest.mark.long
def test_latents_of_one_group_are_latent_attention():
    module, params = made(GROUPED_LATENT, latents=1)
    alone = params['params'] | {'latent': params['params']['latent'][:, 0]}
    assert_near(module.apply(params, X, CONTEXT, False), run(LATENT, alone))


@pytest.mark.long
def test_grouped_latents_are_one_latent_that_each_head_reads_a_part_of():
    no_norm = {'norm': {'use': 'norm.none:NoNorm'}}
    _, params = made(GROUPED_LATENT, **no_norm)
    params = params['params']
    groups = jax.nn.one_hot(jnp.arange(N) // (N // K), K)
    whole = params | {
        'latent': params['latent'].reshape(D, K * R),
        **{
            name: jnp.einsum('RNH,NK->KRNH', params[name], groups).reshape(K * R, N, params[name].shape[-1])
            for name in ('key', 'value')
        },
    }
    assert_near(run({**GROUPED_LATENT, **no_norm}, params), run({**LATENT, **no_norm, 'rank': K * R}, whole))


@pytest.mark.long
@pytest.mark.parametrize('terms', [[], [FORGETS]])
def test_tied_states_are_grouped_queries_whose_projections_are_alike(terms):
    """Without positions, which turn all of a key there, and the last of it here."""
    change = {'position': NO_POSITION, 'terms': terms}
    _, params = made(TIED, **change)
    params = params['params']
    rotated = jnp.broadcast_to(params['key'], (D, K, RH))
    apart = params | {'key': jnp.concatenate([params['value'][..., : H - RH], rotated], axis=-1)}
    grouped = {**MULTI_HEAD, 'key_value_heads': K, **change}
    assert_near(run({**TIED, **change}, params), run(grouped, apart))


def constant(heads, rank, groups):
    """Weights and biases of head factors that are the same for every token: rank r is of the heads of group r."""
    return jnp.zeros((D, rank, heads)), rank * jnp.repeat(jnp.eye(groups), heads // groups, axis=1)


@pytest.mark.long
@pytest.mark.parametrize('groups', [N, K, 1])
def test_constant_head_factors_are_grouped_query_attention(groups):
    """Multi-head attention with as many groups as heads, multi-query attention with one: section 3.4 of the paper."""
    grouped = {**MULTI_HEAD, 'key_value_heads': groups, 'bias': True}
    module, params = made(grouped)
    spec = {**PRODUCT, 'query_rank': N, 'key_rank': groups, 'value_rank': groups, 'bias': True}
    factors = {'output': params['params']['output']}
    for name, rank in (('query', N), ('key', groups), ('value', groups)):
        factors[f'{name}_heads'], factors[f'{name}_heads_bias'] = constant(N, rank, rank)
        factors[f'{name}_features'], factors[f'{name}_features_bias'] = (
            params['params'][of] for of in (name, f'{name}_bias')
        )
    assert_near(run(spec, factors), module.apply(params, X, CONTEXT, False))


@pytest.mark.long
@pytest.mark.parametrize('spec', [TIED, PRODUCT])
def test_what_is_cached_of_a_source_is_made_once(spec):
    _, params = made(spec)
    source = Source(jnp.array(np.random.default_rng(2).normal(size=(B, 5, D)), jnp.float32), CONTEXT.positions[:, :5])
    full = build({**spec, 'mask': {'use': 'ops.mask:Full'}})()
    expected = full.apply(params, X, CONTEXT.replace(source=source), False)
    state = full.apply(params, X, T, source, method='init_state')
    without = CONTEXT.replace(source=source.replace(hidden=None))
    assert_near(full.apply(params, X, without, state, method='step')[0], expected)


SLOTS = 32
NUMBERS = {  # that a token leaves, by the formula of each
    'multi-head': (MULTI_HEAD, 2 * N * H),
    'grouped-query': ({**MULTI_HEAD, 'key_value_heads': K}, 2 * K * H),
    'multi-query': ({**MULTI_HEAD, 'key_value_heads': 1}, 2 * H),
    'latent': (LATENT, R + RH),
    'grouped latent': (GROUPED_LATENT, K * R + RH),
    'grouped tied': (TIED, K * H + RH),
    'tensor product': (PRODUCT, (2 + 5) * (N + H)),
    'tensor product, grouped': ({**PRODUCT, 'key_value_heads': K}, (2 + 5) * (K + H)),
}


@pytest.mark.parametrize('dtype', [jnp.float32, jnp.bfloat16])
@pytest.mark.parametrize('name', NUMBERS)
def test_the_bytes_that_a_token_leaves(name, dtype):
    spec, numbers = NUMBERS[name]
    x = jax.ShapeDtypeStruct((B, 1, D), dtype)
    state = jax.eval_shape(lambda: build(spec)().init_state(jnp.zeros(x.shape, x.dtype), SLOTS))
    found = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves((state.k, state.v)))
    assert found == B * SLOTS * numbers * dtype.dtype.itemsize
    places = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state)) - found
    assert places == 4 * B * (2 * SLOTS + 1)  # the position and segment of each, and how far it is filled


def test_a_score_kernel_is_needed():
    with pytest.raises(UserError, match=r'GroupedTied needs a score-based kernel, which attention\.linear:Linear'):
        made(TIED, kernel={'use': 'attention.linear:Linear'})
    with pytest.raises(UserError, match=r'GroupedLatent needs a score-based kernel'):
        made(GROUPED_LATENT, kernel={'use': 'attention.linear:Linear'})


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(UserError, match='3 latents do not divide 4 heads'):
        made(GROUPED_LATENT, latents=3)
    with pytest.raises(UserError, match='latents must be at least 1, not 0'):
        made(GROUPED_LATENT, latents=0)
    with pytest.raises(UserError, match='value_rank must be at least 1, not 0'):
        made(PRODUCT, value_rank=0)
    with pytest.raises(UserError, match='head_norm is of whole keys'):
        made(PRODUCT, head_norm={'use': 'norm.rms:RMSNorm'})
    with pytest.raises(UserError, match='rotated_width 8 is more than the 6 features of a head'):
        made(TIED, rotated_width=8)
