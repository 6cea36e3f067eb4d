# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A fixed context vector is enough for short sequences: they are learned to be written backwards."""

import functools

import jax
import jax.numpy as jnp
import optax
import pytest

from saccade.build import build
from saccade.ops.loss import cross_entropy
from saccade.types import Scope

SYMBOLS, LONGEST, WIDTH, ROWS, STEPS, AT_ONCE = 5, 10, 96, 64, 1500, 100
END = 0  # begins what is written, and ends both
EXACT = 0.99  # share of rows without a mistake


def model(fed):
    cell = {'use': 'recurrent.lstm:LSTM', 'width': WIDTH}
    return build(
        {
            'use': 'model.recurrent_seq2seq:RecurrentSeq2Seq',
            'vocabulary': SYMBOLS + 1,
            'context': LONGEST + 1,
            'source_context': LONGEST + 1,
            'width': WIDTH,
            'encoder': {'use': 'recurrent.encoder:Encoder', 'cell': cell, 'layers': 1, 'bidirectional': False},
            'bridge': {'use': 'recurrent.copied:Copied'},
            'decoder': {'use': 'recurrent.fixed_context:FixedContext', 'fed': fed, 'cell': cell, 'layers': 1},
            'tied': True,
        }
    )()


def rows(key, count):
    """Sources of up to LONGEST symbols and an end, what is written of them, and what is to be: all of one length."""
    of_length, of_symbols = jax.random.split(key)
    length = jax.random.randint(of_length, (count, 1), 1, LONGEST + 1)
    symbols = jax.random.randint(of_symbols, (count, LONGEST + 1), 1, SYMBOLS + 1)
    place = jnp.arange(LONGEST + 1)
    source = jnp.where(place < length, symbols, END)
    backwards = jnp.take_along_axis(symbols, jnp.clip(length - 1 - place, 0, LONGEST), axis=1)
    targets = jnp.where(place < length, backwards, END)
    tokens = jnp.roll(targets, 1, axis=1).at[:, 0].set(END)
    scope = Scope(jnp.tile(place, (count, 1)), (place <= length).astype(jnp.int32))
    return source, scope, tokens, targets


def logits(model, params, source, scope, tokens):
    return model.apply(params, source, scope, tokens, scope, False)


@functools.partial(jax.jit, static_argnums=(0, 1))
def learn(model, optimizer, params, state, key):
    """AT_ONCE steps."""

    def loss(params, key):
        source, scope, tokens, targets = rows(key, ROWS)
        real = scope.segments
        return (cross_entropy(logits(model, params, source, scope, tokens), targets) * real).sum() / real.sum()

    def step(carry, key):
        params, state = carry
        updates, state = optimizer.update(jax.grad(loss)(params, key), state, params)
        return (optax.apply_updates(params, updates), state), None

    return jax.lax.scan(step, (params, state), jax.random.split(key, AT_ONCE))[0]


@jax.jit
def all_right(predicted, targets, real):
    """The share of rows of which every token is predicted: those that greedy decoding writes without a mistake."""
    return ((predicted == targets) | (real == 0)).all(axis=-1).mean()


@pytest.mark.slow
@pytest.mark.parametrize('fed', [False, True], ids=['initial state', 'every step'])
def test_a_fixed_context_carries_up_to_ten_symbols(fed):
    made = model(fed)
    source, scope, tokens, targets = rows(jax.random.key(1), 1000)
    params = made.init(jax.random.key(0), source, scope, tokens, scope, False)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(8e-3, STEPS)))
    state = optimizer.init(params)
    right = 0.0
    for turn in range(STEPS // AT_ONCE):
        params, state = learn(made, optimizer, params, state, jax.random.key(2 + turn))
        predicted = logits(made, params, source, scope, tokens).argmax(-1)
        if (right := all_right(predicted, targets, scope.segments)) >= EXACT:
            break
    assert right >= EXACT
