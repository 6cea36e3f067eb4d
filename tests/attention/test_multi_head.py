# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention against a loop, its kernels against each other, and what its settings make it equal to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import Scope, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D = 2, 9, 16
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
SCOPE = Scope(jnp.tile(jnp.arange(T), (B, 1)))
PACKED = Scope(
    jnp.array([[0, 0, 1, 2, 0, 1, 2, 3, 0], [0, 1, 2, 3, 4, 5, 6, 7, 8]]),
    jnp.array([[0, 1, 1, 1, 2, 2, 2, 2, 0], [1, 1, 1, 1, 1, 1, 1, 1, 1]]),
)

PLAIN = {'use': 'attention.plain:Plain'}
BLOCKWISE = {'use': 'attention.blockwise:Blockwise', 'query_block': 4, 'key_block': 3}
CAUSAL = {'use': 'ops.mask:Causal'}
TABLE = {'use': 'position.relative_bias:RelativeBias', 'buckets': 8, 'furthest': 20}
SPEC = {
    'use': 'attention.multi_head:MultiHead',
    'heads': 4,
    'kernel': PLAIN,
    'mask': CAUSAL,
    'position': {'use': 'position.none:NoPosition'},
}


def changed(**changes):
    return {**SPEC, **changes}


def params_of(spec):
    module = build(spec)()
    random = np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, SCOPE, False))
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)


def run(spec, params=None, scope=SCOPE):
    module = build(spec)()
    return jax.jit(lambda params: module.apply(params, X, scope, False))(params_of(spec) if params is None else params)


def assert_near(given, expected, relative=F32_RELATIVE):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=relative * np.abs(expected).max())


def test_attention_is_its_equation():
    spec = changed(key_value_heads=2, head_width=3, scale=0.7, bias=True, output_bias=True)
    params = params_of(spec)
    p = {name: np.asarray(leaf) for name, leaf in params['params'].items()}
    q, k, v = (np.einsum('btd,dnh->btnh', X, p[name]) + p[f'{name}_bias'] for name in ('query', 'key', 'value'))
    expected = np.tile(p['output_bias'], (B, T, 1))
    for b, t, n in np.ndindex(B, T, 4):
        scores = np.array([0.7 * q[b, t, n] @ k[b, s, n // 2] for s in range(t + 1)])
        weights = np.exp(scores) / np.exp(scores).sum()
        expected[b, t] += (weights @ v[b, : t + 1, n // 2]) @ p['output'][n]
    assert_near(run(spec, params), expected)


def test_the_scale_is_one_over_the_root_of_the_head_width():
    assert_near(run(changed()), run(changed(scale=0.5)))


@pytest.mark.parametrize('dropout', [0.0, 0.3])
def test_kernels_agree_in_outputs_and_gradients(dropout):
    params = params_of(changed(key_value_heads=2, position=TABLE))

    def loss(params, kernel):
        module = build(changed(key_value_heads=2, position=TABLE, kernel={**kernel, 'dropout': dropout}))()
        y = module.apply(params, X, PACKED, True, rngs={'dropout': jax.random.key(0)})
        return jnp.sin(y).sum(), y

    kernels = (PLAIN, {**PLAIN, 'query_chunks': 3}, BLOCKWISE)
    expected, *others = jax.jit(lambda params: [jax.grad(loss, has_aux=True)(params, kernel) for kernel in kernels])(
        params
    )
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(expected))
    for other in others:
        jax.tree.map(assert_near, other, expected)


def test_as_many_key_heads_as_heads_is_multi_head():
    assert_near(run(changed(key_value_heads=4)), run(changed()))


def test_grouped_heads_are_multi_head_with_repeated_keys():
    grouped = params_of(changed(key_value_heads=2))
    full = {**grouped['params']}
    for name in ('key', 'value'):
        full[name] = jnp.repeat(full[name], 2, axis=-2)
    assert_near(run(changed(key_value_heads=2), grouped), run(changed(), {'params': full}))


def test_a_window_as_long_as_the_sequence_is_causal_attention():
    window = {'use': 'ops.mask:Window', 'left': T - 1}
    assert_near(run(changed(mask=window)), run(changed()))
    assert np.abs(run(changed(mask={**window, 'left': T - 2})) - run(changed())).max() > 0.01


def test_one_head_has_the_parameters_and_the_products_of_many():
    def sizes(spec):
        return sum(leaf.size for leaf in jax.tree.leaves(params_of(spec)))

    assert sizes(changed(heads=1)) == sizes(changed(heads=4)) == 4 * D * D


def test_a_packed_scope_of_one_segment_changes_nothing():
    one = SCOPE.replace(segments=jnp.ones((B, T), int))
    assert_near(run(changed(), scope=one), run(changed()))


def test_a_mask_without_direction_sees_the_keys_that_follow():
    full = run(changed(mask={'use': 'ops.mask:Full'}))
    assert np.abs(full - run(changed()))[:, :-1].max() > 0.01
    assert_near(full[:, -1], run(changed())[:, -1])


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'heads': 3}, 'width 16 is not divisible by 3 heads'),
        ({'key_value_heads': 3}, '4 heads cannot share 3 key_value_heads'),
        ({'key_value_heads': 0}, 'key_value_heads'),
        ({'heads': 0}, 'heads'),
        ({'kernel': {**PLAIN, 'query_chunks': 0}}, 'query_chunks'),
        ({'kernel': {**BLOCKWISE, 'query_block': 0}}, 'query_block'),
        ({'kernel': {**BLOCKWISE, 'key_block': 0}}, 'key_block'),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, words):
    with pytest.raises(UserError, match=words):
        params_of(changed(**changes))


def test_a_head_width_frees_the_heads_from_the_width():
    assert params_of(changed(heads=3, head_width=5))['params']['query'].shape == (D, 3, 5)


def test_each_projection_is_initialised_as_the_matrix_it_stands_for():
    deviation = {
        'use': 'jax.nn.initializers:variance_scaling',
        'scale': 1.0,
        'mode': 'fan_in',
        'distribution': 'normal',
    }
    x = jnp.ones((1, 1, 64))
    module = build(changed(head_width=32, kernel_init=deviation, output_init=deviation))()
    params = jax.jit(lambda key: module.init(key, x, Scope(jnp.zeros((1, 1), int)), False))(jax.random.key(0))['params']
    assert np.std(params['query']) == pytest.approx(64**-0.5, rel=0.05)
    assert np.std(params['output']) == pytest.approx((4 * 32) ** -0.5, rel=0.05)
