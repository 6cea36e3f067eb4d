# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sampled softmax: an unbiased normaliser, the softmax's gradient in the limit, and in a task."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.ops.loss import cross_entropy
from saccade.ops.sampled_softmax import chances, drawn, sampled_cross_entropy
from saccade.ops.vocabulary import OutputProjection
from saccade.task.causal_lm import CausalLM
from saccade.types import UserError

B, T, D, V = 2, 5, 4, 23
KEY = jax.random.key(0)


def normal(shape, seed):
    return jnp.array(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def projection(tied=True):
    return OutputProjection(normal((B, T, D), 0), normal((V, D) if tied else (D, V), 1), tied, normal((V,), 2), 4.0)


TARGETS = jnp.array(np.random.default_rng(3).integers(0, V, (B, T)))


def test_tokens_are_drawn_by_the_chances_that_correct_them():
    assert np.isclose(float(chances(jnp.arange(V), V).sum()), 1.0, atol=1e-6)
    shares = np.bincount(drawn(KEY, 200_000, V), minlength=V) / 200_000
    np.testing.assert_allclose(shares, chances(jnp.arange(V), V), atol=4e-3)


@pytest.mark.long
@pytest.mark.parametrize('tied', [False, True])
def test_the_normaliser_is_unbiased(tied):
    given = projection(tied)
    logits = given.logits()
    own = jnp.take_along_axis(logits, TARGETS[..., None], axis=-1)[..., 0]
    losses = jax.vmap(lambda key: sampled_cross_entropy(given, TARGETS, 3, key))(jax.random.split(KEY, 20_000))
    found, expected = jnp.exp(losses + own).mean(axis=0), jnp.exp(logits).sum(axis=-1)
    np.testing.assert_allclose(found, expected, rtol=0.05)


@pytest.mark.long
def test_loss_and_gradient_are_those_of_the_softmax_in_the_limit():
    def errors(count):
        def sampled(given):
            return sampled_cross_entropy(given, TARGETS, count, KEY).sum()

        def whole(given):
            return cross_entropy(given.logits(), TARGETS).sum()

        found, expected = (jax.tree.leaves(jax.value_and_grad(loss)(projection())) for loss in (sampled, whole))
        return max(float(np.abs(one - other).max()) for one, other in zip(found, expected, strict=True))

    few, many = errors(100), errors(200_000)
    assert many < 0.05
    assert many < few / 10


@pytest.mark.long
def test_a_task_trains_with_it_and_is_evaluated_without():
    model = build({
        'use': 'model.decoder:Decoder', 'vocabulary': V, 'context_length': T, 'width': 8, 'layers': 1,
        'block': {'use': 'block.pre_norm:PreNorm', 'mixer': {
            'use': 'attention.multi_head:MultiHead', 'heads': 2, 'mask': {'use': 'ops.mask:Causal'}}},
    })()  # fmt: skip
    batch = {'tokens': TARGETS, 'segments': jnp.ones_like(TARGETS), 'positions': jnp.tile(jnp.arange(T), (B, 1))}
    task = CausalLM(sampled=50_000)
    params = task.init(model, KEY, batch)
    whole = CausalLM().loss(model, params, batch, KEY, True)
    found = task.loss(model, params, batch, KEY, True)
    assert found.keys() == {'loss'}
    np.testing.assert_allclose(found['loss'].mean(), whole['loss'].mean(), atol=0.02)
    jax.tree.map(
        np.testing.assert_array_equal,
        task.loss(model, params, batch, KEY, False),
        CausalLM().loss(model, params, batch, KEY, False),
    )
    with pytest.raises(UserError, match='excludes label_smoothing'):
        dataclasses.replace(task, label_smoothing=0.1).loss(model, params, batch, KEY, True)
    mixed = model.clone(output=build({'use': 'head.mixture_of_softmaxes:MixtureOfSoftmaxes', 'count': 2}))
    with pytest.raises(UserError, match='need the whole softmax'):
        task.loss(mixed, task.init(mixed, KEY, batch), batch, KEY, True)
