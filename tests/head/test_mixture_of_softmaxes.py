# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixture of softmaxes: by its formula, the rank of its log-probabilities, and in a decoder and a task by chunks."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.vocabulary import OutputProjection
from saccade.task.causal_lm import CausalLM

B, T, D, V, K = 2, 12, 3, 17, 4
MIXTURE = {'use': 'head.mixture_of_softmaxes:MixtureOfSoftmaxes', 'count': K}
DECODER = {
    'use': 'model.decoder:Decoder', 'vocabulary': V, 'context_length': T, 'width': 8, 'layers': 1,
    'block': {'use': 'block.pre_norm:PreNorm', 'mixer': {
        'use': 'attention.multi_head:MultiHead', 'heads': 2, 'mask': {'use': 'ops.mask:Causal'}}},
}  # fmt: skip


def normal(shape, seed):
    return jnp.array(np.random.default_rng(seed).normal(size=shape, scale=1.5), jnp.float32)


def drawn(tied):
    projection = OutputProjection(
        normal((B, T, D), 0), normal((V, D) if tied else (D, V), 1), tied, normal((V,), 2), 9.0
    )
    module = build(MIXTURE)()
    shapes = module.init(jax.random.key(0), projection)['params']
    return projection, module, {name: normal(leaf.shape, seed) for seed, (name, leaf) in enumerate(shapes.items())}


@pytest.mark.parametrize('tied', [False, True])
def test_it_is_the_mixture_of_the_softmaxes_of_k_vectors(tied):
    projection, module, params = drawn(tied)
    p = jax.tree.map(np.float64, params)
    kernel = np.float64(projection.kernel).T if tied else np.float64(projection.kernel)
    expected = np.zeros((B, T, V))
    for b, t in np.ndindex(B, T):
        x = np.float64(projection.hidden)[b, t]
        shares = np.exp(x @ p['shares'])
        for k in range(K):
            scores = np.tanh(x @ p['vectors'][:, k] + p['vectors_bias'][k]) @ kernel + np.float64(projection.bias)
            chances = np.exp(9.0 * np.tanh(scores / 9.0))
            expected[b, t] += shares[k] / shares.sum() * chances / chances.sum()
    found = module.apply({'params': params}, projection).logits()
    np.testing.assert_allclose(found, np.log(expected), atol=1e-4)


def test_log_probabilities_have_a_rank_above_that_of_one_softmax():
    projection, module, params = drawn(True)
    one = jax.nn.log_softmax(projection.replace(cap=None).logits())
    many = module.apply({'params': params}, projection.replace(cap=None)).logits()
    ranks = [np.linalg.matrix_rank(np.float64(each).reshape(B * T, V), tol=1e-3) for each in (one, many)]
    assert ranks[0] == D + 2  # D, the bias and the normaliser
    assert ranks[1] > D + 2


@pytest.mark.long
def test_a_decoder_gives_log_probabilities_and_the_loss_by_chunks_is_that_of_the_whole():
    model = build({**DECODER, 'output': MIXTURE})()
    tokens = jnp.array(np.random.default_rng(3).integers(0, V, (B, T)))
    places = jnp.tile(jnp.arange(T), (B, 1))
    batch = {'tokens': tokens, 'segments': jnp.ones_like(tokens), 'positions': places}
    task, key = CausalLM(), jax.random.key(0)
    params = task.init(model, key, batch)
    np.testing.assert_allclose(np.exp(model.apply({'params': params}, tokens)).sum(axis=-1), 1.0, atol=1e-5)

    def loss(task):
        return jax.value_and_grad(lambda params: task.loss(model, params, batch, key, True)['loss'].mean())(params)

    whole, chunked = loss(task), loss(dataclasses.replace(task, vocabulary_chunk=5))
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, atol=1e-5), whole, chunked)
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(whole[1]['output_mixture']))
