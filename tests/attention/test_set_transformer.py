# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Set Transformer: the authors' outputs of ISAB and PMA, its equations, and sets in any order and with padding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.induced import Induced
from saccade.attention.multi_head import MultiHead
from saccade.attention.set_attention import SetAttention
from saccade.head.attention_pooled import AttentionPooled
from saccade.ops.mask import Window
from saccade.types import LayerContext, Part, Reading, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, N, M = 2, 6, 8, 2, 3
# Outputs of ISAB with norms, and of PMA with 2 seeds without, in modules.py, juho-lee/set_transformer at 73432c6, for
# inputs and parameters of `waves`.
RECORDED = {
    'induced': [
        [-0.156829, -0.175149, -0.603518, -3.508721],
        [-0.12048, -0.22376, -0.580662, -3.385212],
        [-0.07724, -0.276502, -0.568779, -3.322195],
        [-0.151606, -0.182617, -0.603929, -3.512672],
        [-0.088126, -0.256159, -0.563664, -3.285405],
    ],
    'pooled': [[2.102644, 0.673653, 0.413664, -0.49319], [1.505277, 0.22704, -0.30453, -0.28335]],
}


def waves(*shape, start=0):
    return jnp.array(2 * np.sin(start + np.arange(np.prod(shape))).reshape(shape), jnp.float32)


def block(start, norms=True):
    """Parameters of an MAB of width 4 with 2 heads."""
    made = {}
    for number, name in enumerate(('query', 'key', 'value')):
        made[name] = waves(4, 4, start=start + number).reshape(4, 2, 2)
        made[f'{name}_bias'] = waves(4, start=start + number + 10).reshape(2, 2)
    made |= {'output': waves(4, 4, start=start + 3).reshape(2, 2, 4), 'output_bias': waves(4, start=start + 13)}
    if norms:
        for number, name in enumerate(('attended_norm', 'norm')):
            made[name] = {'scale': waves(4, start=start + 20 + number), 'bias': waves(4, start=start + 30 + number)}
    return made


BIASED = dict(heads=2, bias=True, output_bias=True)


@pytest.mark.oracle_of(
    'attention.induced:Induced', 'attention.set_attention:SetAttention', by='juho-lee/set_transformer'
)
def test_outputs_are_those_that_the_authors_code_gave():
    mixer = Induced(points=3, mixer=SetAttention(**BIASED))
    params = {'points': waves(3, 4, start=3), 'gather': block(1), 'read': block(2)}
    y = mixer.apply({'params': params}, waves(1, 5, 4))
    np.testing.assert_allclose(y[0], RECORDED['induced'], atol=1e-4)


def test_pooled_outputs_are_those_that_the_authors_code_gave():
    head = AttentionPooled(mixer=SetAttention(**BIASED, norm=None), queries=2, classes=None)
    params = {'query': waves(2, 4, start=5), 'mixer': block(4, norms=False)}
    context = LayerContext(jnp.arange(5)[None])
    y = head.apply({'params': params}, waves(1, 5, 4), Reading(context, None))
    np.testing.assert_allclose(y[0], np.ravel(RECORDED['pooled']), atol=1e-5)


RANDOM = np.random.default_rng(0)
X = jnp.array(RANDOM.normal(size=(B, T, D)), jnp.float32)
ORDER = jnp.array(RANDOM.permutation(T))
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
PADDED = CONTEXT.replace(segments=jnp.array([[1] * T, [1, 1, 1, 1, 0, 0]]))
ENCODERS = {
    'SAB': SetAttention(heads=N),
    'ISAB': Induced(points=M, mixer=SetAttention(heads=N)),
    'induced multi-head attention': Induced(points=M, mixer=MultiHead(heads=N)),
}
POOLINGS = {seeds: AttentionPooled(mixer=SetAttention(heads=N), queries=seeds, classes=None) for seeds in (1, 3)}


def drawn(module, *rest):
    random = np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, *rest))['params']
    return {'params': jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), jnp.float32), shapes)}


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


def test_a_block_is_its_equation():
    mixer = SetAttention(heads=N)
    params = drawn(mixer)
    own = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params['params'])
    x, o = np.asarray(X, np.float64), []
    for n in range(N):
        q, k, v = (x @ own[name][:, n] for name in ('query', 'key', 'value'))
        weights = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(D))
        o.append(q + weights / weights.sum(axis=-1, keepdims=True) @ v)

    def normalised(name, y):
        y = (y - y.mean(axis=-1, keepdims=True)) / np.sqrt(y.var(axis=-1, keepdims=True) + 1e-6)
        return y * own[name]['scale'] + own[name]['bias']

    h = normalised('attended_norm', np.concatenate(o, axis=-1))
    expected = normalised('norm', h + np.maximum(h @ own['output'].reshape(D, D), 0))
    assert_near(mixer.apply(params, X), expected)


def test_a_scale_of_heads_can_be_given():
    params = drawn(SetAttention(heads=N))
    scaled = SetAttention(heads=N, scale=(D // N) ** -0.5).apply(params, X)
    assert_near(SetAttention(heads=N, scale=D**-0.5).apply(params, X), SetAttention(heads=N).apply(params, X))
    assert np.abs(scaled - SetAttention(heads=N).apply(params, X)).max() > 0.01


def test_points_that_are_the_tokens_are_two_blocks_of_attention():
    mixer = SetAttention(heads=N)
    one, two = (
        jax.tree.map(lambda leaf, factor=factor: factor * leaf, drawn(mixer)['params']) for factor in (1.0, 0.5)
    )
    induced = Induced(points=T, mixer=mixer)
    x = X[:1]
    context = LayerContext(jnp.arange(T)[None])
    gathered = mixer.apply({'params': one}, x, context)
    expected = mixer.apply({'params': two}, x, context.replace(source=context.read(gathered)))
    assert_near(induced.apply({'params': {'points': x[0], 'gather': one, 'read': two}}, x), expected)


@pytest.mark.parametrize('mixer', ENCODERS.values(), ids=ENCODERS)
def test_members_in_another_order_have_the_same_outputs(mixer):
    params = drawn(mixer)
    assert_near(mixer.apply(params, X[:, ORDER]), mixer.apply(params, X)[:, ORDER])


@pytest.mark.parametrize('queries', POOLINGS)
def test_a_pooling_does_not_depend_on_the_order_of_members(queries):
    head, reading = POOLINGS[queries], Reading(PADDED, None)
    params = drawn(head, reading)
    y = head.apply(params, X, reading)
    assert y.shape == (B, queries * D)
    moved = PADDED.replace(segments=PADDED.segments[:, ORDER])
    assert_near(head.apply(params, X[:, ORDER], Reading(moved, None)), y)
    assert np.abs(head.apply(params, -X, reading) - y).max() > 0.1


@pytest.mark.long
@pytest.mark.parametrize('mixer', ENCODERS.values(), ids=ENCODERS)
def test_members_of_a_set_do_not_read_its_padding(mixer):
    params = drawn(mixer)
    y, short = mixer.apply(params, X, PADDED), mixer.apply(params, X[1:, :4])
    assert_near(y[1:, :4], short)
    np.testing.assert_array_equal(mixer.apply(params, X.at[1, 4:].set(99.0), PADDED)[1, :4], y[1, :4])


@pytest.mark.parametrize('queries', POOLINGS)
def test_a_pooling_does_not_read_padding(queries):
    head, reading = POOLINGS[queries], Reading(PADDED, None)
    params = drawn(head, reading)
    y = head.apply(params, X, reading)
    np.testing.assert_array_equal(head.apply(params, X.at[1, 4:].set(99.0), reading), y)
    assert_near(head.apply(params, X[1:, :4], Reading(LayerContext(jnp.arange(4)[None]), None)), y[1:])


def test_documents_have_points_of_their_own_and_those_beyond_are_not_a_number():
    segments = jnp.array([[1, 1, 2, 2, 2, 3]] * B)
    mixer = Induced(points=M, mixer=SetAttention(heads=N), documents=2)
    params = drawn(mixer)
    y = mixer.apply(params, X, CONTEXT.replace(segments=segments))
    assert_near(y[:, :2], mixer.apply(params, X[:, :2]))
    assert_near(y[:, 2:5], mixer.apply(params, X[:, 2:5]))
    assert np.isnan(y[:, 5]).all()


def test_members_by_themselves_read_no_others():
    mixer = SetAttention(heads=N, mask=Part(Window, (('left', 0), ('right', 0))))
    params = drawn(mixer)
    changed = mixer.apply(params, X.at[:, 2].set(3.0)) != mixer.apply(params, X)
    np.testing.assert_array_equal(changed.any(axis=(0, 2)), np.arange(T) == 2)


def test_heads_as_wide_as_the_layer_are_required():
    with pytest.raises(UserError, match=r'set_attention:SetAttention adds its queries .* 2 heads of 3 .* width 8'):
        SetAttention(heads=N, head_width=3).init(jax.random.key(0), X)
