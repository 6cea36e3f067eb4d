# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""SpanBERT: which spans are hidden, and what a token of a span is predicted from."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.head.span_boundary import SpanBoundary
from saccade.ops.masking import choose_spans, row_keys
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.types import LayerContext, Reading

B, T, D, E, V, M = 2, 9, 6, 4, 11, 4
AT = jnp.array([[3, 4, 5, 7], [1, 2, 8, 1]])
BOUNDS = [[(2, 6), (2, 6), (2, 6), (6, 8)], [(0, 3), (0, 3), (7, 8), (0, 3)]]  # place 8 is the last of its row


def normal(shape, seed):
    return jnp.array(np.random.default_rng(seed).normal(size=shape), jnp.float32)


X, TABLE = normal((B, T, D), 0), normal((V, E), 1)
READING = Reading(LayerContext(jnp.tile(jnp.arange(T), (B, 1))), TABLE, AT)


def head():
    module = build({'use': 'head.span_boundary:SpanBoundary', 'longest': 2, 'activation': {'use': 'jax.numpy:tanh'}})()
    shapes = module.init(jax.random.key(0), X, READING)['params']
    return module, jax.tree.map(lambda leaf: normal(leaf.shape, leaf.size), shapes)


def normed(h, p):
    return p['scale'] * (h - h.mean()) / np.sqrt(h.var() + 1e-6) + p['bias']


@pytest.mark.long
def test_a_hidden_token_is_predicted_from_the_boundaries_of_its_span_and_its_place():
    module, params = head()
    found = module.apply({'params': params}, X, READING)
    p, x = jax.tree.map(np.float64, params), np.float64(X)
    for b, m in np.ndindex(B, M):
        left, right = BOUNDS[b][m]
        place = min(int(AT[b, m]) - left - 1, 1)
        h = np.concatenate([x[b, left], x[b, right], p['positions'][place]])
        for layer in range(2):
            h = normed(np.tanh(h @ p[f'hidden_{layer}'] + p[f'hidden_{layer}_bias']), p[f'norm_{layer}'])
        np.testing.assert_allclose(found[b, m], np.float64(TABLE) @ h + p['bias'], atol=2e-3)


@pytest.mark.long
def test_the_hidden_tokens_themselves_are_not_read():
    module, params = head()
    reach = jax.jacobian(lambda x: module.apply({'params': params}, x, READING)[0, :3].sum())(X)[0]
    assert (np.abs(reach).max(axis=-1) > 0).tolist() == [False, False, True, False, False, False, True, False, False]


@pytest.mark.long
def test_spans_are_whole_words_of_geometric_lengths_up_to_the_share():
    rows, length = 600, 100
    words = np.zeros((rows, length), np.int32)
    words[:, 1:95] = np.repeat(np.arange(1, 48), 2)
    found = choose_spans(row_keys(jax.random.key(0), jnp.arange(rows)), jnp.array(words), 0.15)
    marks = np.zeros((rows, length), bool)
    for row in range(rows):
        marks[row, np.asarray(found.at)[row][np.asarray(found.counts)[row] > 0]] = True
    assert not marks[words == 0].any()
    counts = marks.sum(axis=1)
    assert counts.max() == 14  # 0.15 of 94
    assert (counts == 14).mean() > 0.95
    starts = (marks[:, 1:] & ~marks[:, :-1]).sum()
    assert 4 < marks.sum() / starts < 9  # mean length in tokens: at most 2 times 3.8 words, less by cuts
    halves = marks[:, 1:95].reshape(rows, 47, 2)
    assert (halves[..., 0] != halves[..., 1]).sum(axis=1).max() <= 1  # the last span alone may cut a word


@pytest.mark.long
def test_the_experiment_adds_the_loss_of_boundaries():
    small = ('model.width=16', 'model.layers=1', 'model.vocabulary=200', 'batch_size=4')
    made = Experiment.of(load_config('experiments/masked_lm/spanbert_tiny.py', [f'--config.{each}' for each in small]))
    task, model = made.task(), made.model()
    assert dict(made.model['heads'])['boundary'].target is SpanBoundary
    like = made.data().batch_like(4)
    batch = {name: jnp.ones(leaf.shape, leaf.dtype) for name, leaf in like.items()}
    batch |= {'words': jnp.tile(jnp.arange(64), (4, 1)), 'row': jnp.arange(4), 'tokens': 5 + batch['words']}
    params = task.init(model, jax.random.key(0), batch)
    totals = task.loss(model, params, batch, jax.random.key(1), True)
    parts = [totals[f'{part}_loss'].mean() for part in ('masked', 'boundary')]
    np.testing.assert_allclose(totals['loss'].mean(), sum(parts), rtol=1e-6)
    gradient = jax.grad(lambda params: task.loss(model, params, batch, jax.random.key(1), True)['loss'].mean())(params)
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(gradient['boundary_head']))
