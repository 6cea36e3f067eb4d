# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pointer-generator: by its equations, in steps, and copying of tokens that training never showed."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.build import build
from saccade.ops.vocabulary import OutputProjection
from saccade.types import LayerContext, UserError

B, S, T, V, D = 2, 5, 4, 9, 6
POINTER = {'use': 'head.pointer_generator:PointerGenerator'}


def spec(vocabulary=V, width=D, length=8, **more):
    cell = {'use': 'recurrent.cell.gru:GRU', 'width': width}
    attention = {'use': 'recurrent.decoder.soft:Soft', 'score': {'use': 'recurrent.score.general:General'}}
    return {
        'use': 'model.recurrent_seq2seq:RecurrentSeq2Seq', 'vocabulary': vocabulary, 'context_length': length,
        'source_context_length': length, 'width': width, 'pointer': POINTER,
        'encoder': {'use': 'recurrent.encoder:Encoder', 'bidirectional': True, 'cell': cell, 'layers': 1},
        'bridge': {'use': 'recurrent.decoder.projected:Projected'},
        'decoder': {'use': 'recurrent.decoder.luong:Luong', 'input_feeding': False, 'cell': cell, 'layers': 1,
                    'attention': attention},
        **more,
    }  # fmt: skip


def normal(shape, seed):
    return jnp.array(np.random.default_rng(seed).normal(size=shape), jnp.float32)


@pytest.mark.long
def test_it_is_the_mixture_of_the_vocabulary_and_the_source():
    source, weights = jnp.array([[3, 1, 3, 8, 0], [2, 2, 2, 5, 7]]), jax.nn.softmax(normal((B, T, S), 0))
    projection = OutputProjection(normal((B, T, D), 1), normal((V, D), 2), tied=True)
    params = {'kernel': normal((D, 1), 3), 'bias': jnp.float32(0.3)}
    found = build(POINTER)().apply({'params': params}, projection, weights, source)
    expected = np.zeros((B, T, V))
    for b, t in np.ndindex(B, T):
        y = np.float64(projection.hidden)[b, t]
        g = 1 / (1 + np.exp(-(y @ np.float64(params['kernel'][:, 0]) + 0.3)))
        scores = np.exp(np.float64(projection.kernel) @ y)
        expected[b, t] = g * scores / scores.sum()
        for s in range(S):
            expected[b, t, source[b, s]] += (1 - g) * weights[b, t, s]
    np.testing.assert_allclose(np.exp(found), expected, atol=1e-5)
    np.testing.assert_allclose(np.exp(found).sum(axis=-1), 1.0, atol=1e-5)


@functools.cache
def drawn(**more):
    model = build(spec(**more))()
    source, there = jnp.array([[3, 1, 3, 8, 0], [2, 2, 5, 0, 0]]), jnp.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]])
    tokens = jnp.array([[1, 4, 2, 6], [1, 7, 7, 2]])
    given = source, LayerContext(jnp.arange(S) * there, there), tokens, LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
    params = model.init(jax.random.key(0), *given)['params']
    return model, {'params': jax.tree.map(lambda leaf: normal(leaf.shape, 5), params)}, given


@pytest.mark.long
def test_steps_are_the_whole_and_padding_is_not_copied():
    model, params, (source, read, tokens, context) = drawn()
    whole = model.apply(params, source, read, tokens, context)
    state, parts = model.apply(params, source, read, T, method='encode'), []
    for here in (slice(0, 1), slice(1, 4)):
        made, state = model.apply(params, tokens[:, here], jnp.ones_like(tokens[:, here]), state, method='step')
        parts.append(made)
    np.testing.assert_allclose(jnp.concatenate(parts, axis=1), whole, atol=1e-5)
    others = jnp.where(read.segments == 0, 4, source)
    np.testing.assert_allclose(model.apply(params, others, read, tokens, context), whole, atol=1e-5)


@pytest.mark.long
def test_what_cannot_be_pointed_at_is_refused():
    _, params, (source, read, tokens, context) = drawn()
    fixed = {'use': 'recurrent.decoder.fixed_context:FixedContext', 'fed': True, 'layers': 1,
             'cell': {'use': 'recurrent.cell.gru:GRU', 'width': D}}  # fmt: skip
    for more, message in (({'decoder': fixed}, 'needs a decoder with attention'), ({'source_vocabulary': V}, 'copies')):
        with pytest.raises(UserError, match=message):
            build(spec(**more))().init(jax.random.key(0), source, read, tokens, context)
    model = build(spec())()
    with pytest.raises(UserError, match='vocabulary_chunk'):
        model.apply(params, source, read, tokens, context, False, method='output_projection')


def greetings(random, rows, low, high):
    """Sources of six common words, of which the one after the word 9 is a name; targets that greet it: 1 8 NAME 2."""
    words, at = random.integers(3, 8, (rows, 6)), random.integers(0, 5, rows)
    names, each = random.integers(low, high, rows), np.arange(rows)
    words[each, at], words[each, at + 1] = 9, names
    said = np.stack([np.full(rows, 1), np.full(rows, 8), names, np.full(rows, 2)], axis=1)
    return jnp.array(words), jnp.array(said)


def right_names(pointer):
    """The share of names said right, seen in training and not, after it."""
    model, random = build(spec(vocabulary=150, width=32, pointer=pointer))(), np.random.default_rng(0)
    places = LayerContext(jnp.tile(jnp.arange(6), (64, 1))), LayerContext(jnp.tile(jnp.arange(3), (64, 1)))

    def logits(params, source, tokens):
        return model.apply({'params': params}, source, places[0], tokens[:, :-1], places[1])

    def loss(params, source, tokens):
        return optax.softmax_cross_entropy_with_integer_labels(logits(params, source, tokens), tokens[:, 1:]).mean()

    optimizer = optax.adam(5e-3)

    @jax.jit
    def step(params, state, *rows):
        updates, state = optimizer.update(jax.grad(loss)(params, *rows), state)
        return optax.apply_updates(params, updates), state

    source, tokens = greetings(random, 64, 10, 110)
    params = model.init(jax.random.key(0), source, places[0], tokens[:, :-1], places[1])['params']
    state = optimizer.init(params)
    for _ in range(300):
        params, state = step(params, state, *greetings(random, 64, 10, 110))
    found = []
    for low, high in ((10, 110), (110, 150)):
        source, tokens = greetings(random, 64, low, high)
        found.append(float((jnp.argmax(logits(params, source, tokens), axis=-1) == tokens[:, 1:])[:, 1].mean()))
    return found


@pytest.mark.long
def test_copying_learns_names_never_seen_in_training():
    seen, unseen = right_names(POINTER)
    assert min(seen, unseen) > 0.9
    assert right_names(None)[1] < 0.1
