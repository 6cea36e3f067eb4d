# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention against a loop, its kernels against each other, and what its settings make it equal to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counted import count_primitive
from drawn import drawn

from saccade.build import build
from saccade.position.rotary import Rotary
from saccade.types import LayerContext, Source, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D = 2, 9, 16
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
PACKED = LayerContext(
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
    return drawn(spec, X, CONTEXT)[1]


def run(spec, params=None, context=CONTEXT):
    module = build(spec)()
    return jax.jit(lambda params: module.apply(params, X, context, False))(
        params_of(spec) if params is None else params
    )


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


@pytest.mark.long
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


def test_a_packed_context_of_one_segment_changes_nothing():
    one = CONTEXT.replace(segments=jnp.ones((B, T), int))
    assert_near(run(changed(), context=one), run(changed()))


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
    params = jax.jit(lambda key: module.init(key, x, LayerContext(jnp.zeros((1, 1), int)), False))(jax.random.key(0))[
        'params'
    ]
    assert np.std(params['query']) == pytest.approx(64**-0.5, rel=0.05)
    assert np.std(params['output']) == pytest.approx((4 * 32) ** -0.5, rel=0.05)


@pytest.mark.long
def test_fused_projections_give_the_numbers_of_separate_ones():
    params = params_of(changed(key_value_heads=2))

    def loss(params, fused):
        module = build(changed(key_value_heads=2, fused=fused))()
        return jnp.sin(module.apply(params, X, CONTEXT, False)).sum()

    separate, fused = (jax.jit(jax.value_and_grad(loss), static_argnums=1)(params, fused) for fused in (False, True))
    jax.tree.map(assert_near, fused, separate)


@pytest.mark.parametrize(('fused', 'products'), [(False, 6), (True, 4)])
def test_attention_is_four_products_with_fused_projections(fused, products):
    spec = changed(fused=fused)
    module, params = build(spec)(), params_of(spec)
    assert count_primitive(lambda x: module.apply(params, x, CONTEXT, False), 'dot_general', X) == products


@pytest.mark.long
@pytest.mark.parametrize('together', [False, True])
def test_head_norm_is_over_each_head_or_over_all_before_the_positions(together):
    spec = changed(
        head_norm={'use': 'norm.rms:RMSNorm'},
        norm_together=together,
        position={'use': 'position.rotary:Rotary'},
        heads=2,
        key_value_heads=1,
    )
    params = params_of(spec)
    p = params['params']
    roots = {name: np.einsum('btd,dnh->btnh', X, p[name]) for name in ('query', 'key')}
    over = (-2, -1) if together else -1
    normed = {
        name: y
        / np.sqrt((y**2).mean(over, keepdims=True) + 1e-6)
        * p[f'{name}_norm']['scale'].reshape(-1 if together else 1, D // 2)
        for name, y in roots.items()
    }
    seen = {}

    def rotate(self, q, k, q_positions, k_positions):
        seen.update({name: x for name, x in (('query', q), ('key', k)) if x.size})
        return q, k

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rotary, 'rotate', rotate)
        build(spec)().apply(params, X, CONTEXT, False)
    for name, expected in normed.items():
        assert_near(seen[name], expected)


def test_the_gate_multiplies_what_each_head_has_read():
    sigmoid = {'use': 'jax.nn:sigmoid'}
    params = params_of(changed(gate=sigmoid))
    p = params['params']
    gates = 1 / (1 + np.exp(-np.einsum('btd,dnh->btnh', X, p['gate'])))
    open_gate = {'params': {**p, 'output': jnp.eye(D).reshape(4, 4, D)}}
    ungated = run(changed(), {'params': {name: leaf for name, leaf in open_gate['params'].items() if name != 'gate'}})
    assert_near(run(changed(gate=sigmoid), open_gate), ungated * gates.reshape(B, T, D))


def test_a_term_with_parameters_is_made_for_the_heads():
    term = {'use': 'position.relative_bias:RelativeBias', 'buckets': 8, 'furthest': 20}
    params = params_of(changed(terms=(term,)))
    assert params['params']['term_0']['table'].shape == (8, 4)
    as_position = {'params': {**params['params'], 'position': params['params']['term_0']}}
    del as_position['params']['term_0']
    assert_near(run(changed(terms=(term,)), params), run(changed(position=term), as_position))


class TestCross:
    """Keys and values from another sequence, of another length and width."""

    SPEC = changed(mask={'use': 'ops.mask:Full'}, key_value_heads=2)
    READ = jnp.array(np.random.default_rng(2).normal(size=(B, 5, 12)), jnp.float32)
    PLACES = jnp.tile(jnp.arange(5), (B, 1))

    def run(self, params, read, segments=None, kernel=PLAIN, fused=False):
        context = CONTEXT.replace(source=Source(read, self.PLACES, segments))
        module = build({**self.SPEC, 'kernel': kernel, 'fused': fused})()
        if params is None:
            return module.init(jax.random.key(0), X, context, False)
        return module.apply(params, X, context, False)

    @pytest.mark.long
    def test_it_is_its_equation(self):
        params = self.run(None, self.READ)
        p = params['params']
        q = np.einsum('btd,dnh->btnh', X, p['query'])
        k, v = (np.einsum('bsd,dnh->bsnh', self.READ, p[name]) for name in ('key', 'value'))
        expected = np.zeros((B, T, D), np.float32)
        for b, t, n in np.ndindex(B, T, 4):
            weights = np.exp(k[b, :, n // 2] @ q[b, t, n] / 2)
            expected[b, t] += weights / weights.sum() @ v[b, :, n // 2] @ p['output'][n]
        for kernel in (PLAIN, BLOCKWISE):
            for fused in (False, True):
                assert_near(self.run(params, self.READ, kernel=kernel, fused=fused), expected)

    @pytest.mark.parametrize('segmented', [False, True])
    @pytest.mark.parametrize('mask', [CAUSAL, {'use': 'ops.mask:Window', 'left': 2}, {'use': 'ops.mask:Full'}])
    def test_a_mask_by_place_is_the_same_whole_and_stepped(self, mask, segmented):
        def segments_of(x):
            return jnp.ones(x.shape[:2], jnp.int32) if segmented else None

        source = Source(self.READ, self.PLACES, segments_of(self.READ))
        module = build({**self.SPEC, 'mask': mask})()
        context = CONTEXT.replace(source=source, segments=segments_of(X))
        params = module.init(jax.random.key(0), X, context, False)
        whole = module.apply(params, X, context, False)
        state = module.apply(params, X[:, :1], T, source, method='init_state')
        for start, stop in ((0, 1), (1, 4), (4, T)):
            chunk = X[:, start:stop]
            given = Source(None, source.positions, source.segments)
            own = LayerContext(CONTEXT.positions[:, start:stop], segments_of(chunk), given)
            y, state = module.apply(params, chunk, own, state, method='step')
            assert_near(y, whole[:, start:stop])

    @pytest.mark.long
    def test_padding_of_the_source_is_not_seen_and_the_rest_gets_a_gradient(self):
        params, segments = self.run(None, self.READ), jnp.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
        padded = self.run(params, self.READ, segments)
        other = self.run(params, self.READ.at[0, 3:].add(1.0), segments)
        np.testing.assert_array_equal(padded, other)
        gradient = jax.grad(lambda read: jnp.sin(self.run(params, read, segments)).sum())(self.READ)
        assert (np.abs(gradient).max(axis=-1) > 0).tolist() == (segments != 0).tolist()


@pytest.mark.parametrize(
    'changes',
    [
        {'position': {'use': 'position.alibi:ALiBi'}},
        {'position': TABLE},
        {'position': {'use': 'position.shaw:Shaw', 'reach': 3, 'head_width': 4}},
        {'terms': [{'use': 'ops.term:LinearBias', 'slopes': [0.5, 0.25, 0.125, 0.0625]}]},
    ],
)
def test_to_another_sequence_there_is_no_distance_whatever_the_model(changes):
    across = CONTEXT.replace(source=Source(X, CONTEXT.positions))
    with pytest.raises(UserError, match='has no distance'):
        run(changed(mask={'use': 'ops.mask:Full'}, **changes), context=across)
