# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Channel mixing, a feed-forward layer with a state: against a plain loop, and in a decoder of blocks of its own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext, UserError

RELATIVE = 1e-5
B, T, D, V = 2, 8, 4, 11
USE = {'use': 'recurrent.mixer.channel_mixing:ChannelMixing', 'ratio': 2.0}
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
SEGMENTS = jnp.array([[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 2, 2, 2, 2, 0]])
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)), SEGMENTS)


def drawn(module, *given):
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), *given))['params']
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), leaf.dtype), shapes)


@pytest.mark.parametrize('gate', [True, False])
def test_it_is_the_equation_within_a_document(gate):
    module = build(USE if gate else USE | {'gate': None})()
    params = drawn(module, X, CONTEXT, False)
    found = np.asarray(module.apply({'params': params}, X, CONTEXT, False))
    p, x = jax.tree.map(np.asarray, params), np.asarray(X)
    expected = np.zeros((B, T, D))
    for b in range(B):
        for t in range(T):
            same = t > 0 and SEGMENTS[b, t] == SEGMENTS[b, t - 1]
            before = x[b, t - 1] if same else np.zeros(D)
            k = p['up_share'] * x[b, t] + (1 - p['up_share']) * before
            expected[b, t] = np.maximum(k @ p['up'], 0) ** 2 @ p['down']
            if gate:
                r = p['gate_share'] * x[b, t] + (1 - p['gate_share']) * before
                expected[b, t] /= 1 + np.exp(-(r @ p['gate']))
    real = np.asarray(SEGMENTS) != 0
    np.testing.assert_allclose(found[real], expected[real], rtol=0, atol=RELATIVE * np.abs(expected).max())


@pytest.mark.long
def test_a_decoder_of_attention_and_channel_mixing_steps_as_it_runs():
    attention = {
        'use': 'attention.multi_head:MultiHead',
        'heads': 2,
        'kernel': {'use': 'attention.plain:Plain'},
        'mask': {'use': 'ops.mask:Causal'},
        'position': {'use': 'position.none:NoPosition'},
    }
    block = {'use': 'block.pre_norm:PreNorm', 'norm': {'use': 'norm.rms:RMSNorm'}, 'feedforward': None}
    model = build(
        {
            'use': 'model.decoder:Decoder',
            'vocabulary': V,
            'context_length': T,
            'width': D,
            'layers': 4,
            'block': [block | {'mixer': attention}, block | {'mixer': USE}],
            'position': {'use': 'position.none:NoPosition'},
            'norm': {'use': 'norm.rms:RMSNorm'},
            'run': {'use': 'model.stack:Scanned'},
            'tied': True,
        }
    )()
    tokens = jnp.array(np.random.default_rng(2).integers(0, V, (B, T)))
    params = drawn(model, tokens, LayerContext(CONTEXT.positions), False)
    wanted = model.apply({'params': params}, tokens, LayerContext(CONTEXT.positions), False)
    state = model.apply({'params': params}, tokens, T, method='init_state')
    found = []
    for here in np.split(np.arange(T), [3, 4]):
        ones = jnp.ones((B, len(here)), jnp.int32)
        logits, state = model.apply({'params': params}, tokens[:, here], ones, state, method='step')
        found.append(logits)
    found = jnp.concatenate(found, axis=1)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=RELATIVE * np.abs(wanted).max())


def test_it_mixes_two_tokens_alone():
    with pytest.raises(UserError, match='size must be 2, not 3'):
        build(USE | {'size': 3})().init(jax.random.key(0), X, CONTEXT, False)
