# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Luna: the authors' outputs, the slots that layers pass on, the causal form as a loop, and what both equal."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.causal_luna import CausalLuna
from saccade.attention.luna import Luna
from saccade.attention.multi_head import MultiHead
from saccade.norm.none import NoNorm
from saccade.types import LayerContext, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, N, M = 2, 6, 8, 2, 3
# Outputs of LunarMultiheadAttention, y and the packed slots, and of LunarCausalAttention, in
# fairseq/modules/luna_attention.py, XuezheMax/fairseq-apollo at 3644d20, for inputs and parameters of `waves`.
RECORDED = {
    'unpacked': [
        [0.803201, 0.313001, -0.46497, -0.81545],
        [0.116293, -1.102774, -1.307955, -0.310609],
        [1.245851, -2.156529, -3.576206, -1.707936],
        [1.107507, 1.239607, 0.232018, -0.988887],
        [-0.724525, -1.328409, -0.71096, 0.560142],
        [1.49269, 0.220359, -1.254569, -1.576052],
    ],
    'packed': [
        [-2.115533, -1.27493, -0.10985, 0.360205],
        [1.899681, 0.69334, -1.239139, -1.833796],
        [-1.940501, -0.97786, 1.095572, 1.890683],
    ],
    'causal': [
        [-8.285102, -2.722548, 5.343104, 8.496331],
        [1.091065, -0.855635, -2.015668, -1.322506],
        [-2.279923, -0.008748, 2.270469, 2.462228],
        [-0.734704, -0.48293, 0.212848, 0.712935],
        [2.041253, -0.425944, -2.501529, -2.27722],
        [-2.383482, 0.487118, 2.909863, 2.657294],
    ],
}


def waves(*shape, start=0):
    return jnp.array(2 * np.sin(start + np.arange(np.prod(shape))).reshape(shape), jnp.float32)


@pytest.mark.oracle_of('attention.luna:Luna', by='XuezheMax/fairseq-apollo')
@pytest.mark.long
def test_outputs_are_those_that_the_authors_code_gave():
    kernels = {
        name: waves(4, 4, start=start).reshape(4, 2, 2)
        for start, name in enumerate(('pack_query', 'pack_key', 'query', 'key'), 1)
    }
    params = kernels | {'slots': waves(3, 4, start=6), 'output': waves(4, 4, start=5).reshape(2, 2, 4)}
    mixer = Luna(heads=2, slots=3, norm=NoNorm())
    y, tapped = mixer.apply({'params': params}, waves(1, 6, 4), mutable=['packed'])
    np.testing.assert_allclose(y[0], RECORDED['unpacked'], atol=1e-5)
    np.testing.assert_allclose(tapped['packed']['packed'].value[0], RECORDED['packed'], atol=1e-5)


@pytest.mark.oracle_of('attention.causal_luna:CausalLuna', by='XuezheMax/fairseq-apollo')
@pytest.mark.long
def test_outputs_of_the_causal_form_are_those_that_the_authors_code_gave():
    kernels = {
        name: waves(4, 4, start=start).reshape(4, 2, 2)
        for name, start in (('pack_key', 2), ('query', 3), ('key', 4), ('value', 7))
    }
    slots, output = waves(3, 4, start=6).reshape(3, 2, 2), waves(4, 4, start=5).reshape(2, 2, 4)
    params = kernels | {'slots': slots, 'output': output}
    y = CausalLuna(heads=2, slots=3, chunk=4).apply({'params': params}, waves(1, 6, 4))
    np.testing.assert_allclose(y[0], RECORDED['causal'], atol=1e-5)


X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))


def drawn(module):
    random = np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X, CONTEXT))['params']
    return {'params': jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), jnp.float32), shapes)}


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


@pytest.mark.long
def test_one_slot_gives_every_token_one_output():
    mixer = Luna(heads=N, slots=1)
    y = mixer.apply(drawn(mixer), X)
    assert_near(y, jnp.broadcast_to(y[:, :1], y.shape))
    assert np.abs(y[0] - y[1]).max() > 0.1  # of another sequence


@pytest.mark.long
def test_slots_that_read_one_token_each_are_attention():
    """Queries of slots that are so long that each attends to its token alone: C is X Ws, and Y attention to it."""
    x = jnp.eye(D)[None, :T]
    random = np.random.default_rng(0)
    query, key, output = (jnp.array(random.normal(size=(D, D)), jnp.float32) for _ in range(3))
    mixer = Luna(heads=1, slots=T, norm=NoNorm())
    one = jnp.eye(D)[:, None]
    params = {
        'slots': 1000 * x[0], 'pack_query': one, 'pack_key': one, 'query': query[:, None], 'key': key[:, None],
        'output': output[None],
    }  # fmt: skip
    attention = {'query': query[:, None], 'key': key[:, None], 'value': key[:, None], 'output': output[None]}
    assert_near(mixer.apply({'params': params}, x), MultiHead(heads=1).apply({'params': attention}, x))


@pytest.mark.long
def test_a_layer_adds_its_packed_tokens_to_the_slots_of_the_next():
    mixer = Luna(heads=N, slots=M)
    params = drawn(mixer)
    _, first = mixer.apply(params, X, CONTEXT, mutable=['handed', 'packed'])
    slots, packed = first['handed']['slots'], first['packed']['packed'].value
    assert_near(slots, params['params']['slots'] + packed)
    later = CONTEXT.replace(handed={'slots': (jnp.array(True), slots)})
    y, second = mixer.apply(params, X, later, mutable=['handed', 'packed'])
    own = params['params'] | {'slots': params['params']['slots'] + slots[0]}
    assert_near(y[:1], mixer.apply({'params': own}, X[:1], CONTEXT.replace(positions=CONTEXT.positions[:1])))
    assert_near(second['handed']['slots'], params['params']['slots'] + slots + second['packed']['packed'].value)


@pytest.mark.long
def test_the_causal_form_is_its_equation():
    mixer = CausalLuna(heads=N, slots=M, value_width=3, chunk=4)
    params = drawn(mixer)
    given = {name: np.asarray(leaf, np.float64) for name, leaf in params['params'].items()}
    x, H, expected = np.asarray(X, np.float64), D // N, np.zeros((B, T, D))
    for b, n in np.ndindex(B, N):
        packing, q, k, v = (x[b] @ given[name][:, n] for name in ('pack_key', 'query', 'key', 'value'))
        a = np.log2(1 + 2 ** (packing @ given['slots'][:, n].T / np.sqrt(H)))
        for t in range(T):
            scores = sum(q[t] @ k[j] * a[j] for j in range(t + 1)) / np.sqrt(H) / (t + 1)
            w = np.exp(scores - scores.max())
            y = sum(w @ a[j] / w.sum() * v[j] for j in range(t + 1)) / (t + 1)
            expected[b, t] += y @ given['output'][n]
    assert_near(mixer.apply(params, X), expected)


def test_luna_refuses_rows_of_several_segments():
    with pytest.raises(UserError, match=r'attention\.luna:Luna cannot tell segments apart'):
        Luna(heads=N, slots=M).init(jax.random.key(0), X, CONTEXT.replace(segments=jnp.ones((B, T), int)))
