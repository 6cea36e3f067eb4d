# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gradient-based subword tokenisation: against loops, without padding, and before an encoder."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.types import LayerContext

T, E, V, M = 7, 6, 11, 3
TABLE = jnp.array(np.random.default_rng(0).normal(size=(V, E)), jnp.float32)
TOKENS = jnp.array(np.random.default_rng(1).integers(0, V, (2, T)))
SEGMENTS = jnp.array([[1] * 7, [1] * 5 + [0] * 2])
CONTEXT = LayerContext(jnp.arange(T) * SEGMENTS, SEGMENTS)
SPEC = {'use': 'embed.gradient_based_subword:GradientBasedSubword', 'blocks': M, 'stride': 2}


def softmax(x):
    return np.exp(x) / np.exp(x).sum()


def by_hand(x, w, calibrated):
    """One row of real characters: their choices among blocks, and the means of neighbours."""
    choices = np.zeros((len(x), M, E))
    for i, b in np.ndindex(len(x), M):
        start = i // (b + 1) * (b + 1)
        choices[i, b] = x[start : start + b + 1].mean(axis=0)
    shares = np.array([softmax(choices[i] @ w) for i in range(len(x))])
    if calibrated:
        shares = np.array([softmax(shares @ shares[i]) @ shares for i in range(len(x))])
    y = np.einsum('TM,TMD->TD', shares, choices)
    return np.array([y[start : start + 2].mean(axis=0) for start in range(0, len(x), 2)])


@pytest.mark.long
@pytest.mark.parametrize('calibrated', [False, True])
def test_it_is_the_loop_over_blocks_of_what_is_real(calibrated):
    module, w = build({**SPEC, 'calibrated': calibrated})(), np.random.default_rng(2).normal(size=E)
    params = {'choice': jnp.array(w[:, None], jnp.float32)}
    found, context = module.apply({'params': params}, TOKENS, CONTEXT, E, TABLE)
    for row, length in enumerate((7, 5)):
        expected = by_hand(np.float64(TABLE)[np.asarray(TOKENS)[row, :length]], w, calibrated)
        np.testing.assert_allclose(found[row, : len(expected)], expected, atol=1e-5)
    np.testing.assert_array_equal(context.segments, [[1, 1, 1, 1], [1, 1, 1, 0]])
    np.testing.assert_array_equal(context.positions, [[0, 1, 2, 3], [0, 1, 2, 0]])


@pytest.mark.long
def test_blocks_of_one_character_without_a_stride_are_the_characters():
    module = build({**SPEC, 'blocks': 1, 'stride': 1})()
    found, context = module.apply({'params': {'choice': jnp.ones((E, 1))}}, TOKENS, CONTEXT, E, TABLE)
    np.testing.assert_allclose(found, TABLE[TOKENS] * (SEGMENTS[..., None] != 0), atol=1e-6)
    np.testing.assert_array_equal(context.segments, SEGMENTS)


@pytest.mark.long
def test_an_encoder_reads_shorter_rows_and_padding_changes_nothing():
    mixer = {'use': 'attention.multi_head:MultiHead', 'heads': 2}
    size = 5
    convolution = {'use': 'recurrent.mixer.centred_convolution:CentredConvolution', 'size': size, 'depthwise': True}
    model = build({
        'use': 'model.encoder:Encoder', 'vocabulary': V, 'context_length': 4, 'width': E, 'layers': 1,
        'embed': {**SPEC, 'calibrated': True, 'convolution': convolution},
        'block': {'use': 'block.pre_norm:PreNorm', 'mixer': mixer},
        'heads': {'pooled': {'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:mean'}, 'classes': 3}},
    })()  # fmt: skip
    params = model.init(jax.random.key(0), TOKENS, CONTEXT)
    found = model.apply(params, TOKENS, CONTEXT)['pooled']
    others = jnp.where(SEGMENTS == 0, 3, TOKENS)
    np.testing.assert_allclose(model.apply(params, others, CONTEXT)['pooled'], found, atol=1e-6)
    alone = model.apply(params, TOKENS[1:, :5], LayerContext(jnp.arange(5)[None]))['pooled']
    np.testing.assert_allclose(alone, found[1:], atol=1e-5)
