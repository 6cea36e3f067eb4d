# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Hard attention follows a pointer into 20 words, by whichever estimator of its gradient it learns."""

import jax
import jax.numpy as jnp
import pytest
from learning import Lesson, framed, recurrent

LENGTH, SYMBOLS, WIDTH = 20, 20, 64
RIGHT = 0.95  # share of rows


def pointed(key, count):
    """Words, a pointer to one of them, and that one, as `data.synthetic.sequences:Pointer`, in one program."""
    of_words, of_pointer = jax.random.split(key)
    words = jax.random.randint(of_words, (count, LENGTH), 1, SYMBOLS + 1)
    pointer = jax.random.randint(of_pointer, (count, 1), 0, LENGTH)
    return framed(jnp.concatenate([words, 1 + SYMBOLS + pointer], axis=1), jnp.take_along_axis(words, pointer, axis=1))


def model(decoder):
    sizes = {'vocabulary': 1 + SYMBOLS + LENGTH, 'source_context_length': LENGTH + 2, 'context_length': 2}
    return recurrent(decoder, WIDTH, bidirectional=False, **sizes)


def taught(decoder, steps):
    lesson = Lesson(pointed, rows=128, steps=steps, peak=5e-3, enough=lambda learned: learned.rows >= RIGHT)
    return lesson.taught(model(decoder)).rows


@pytest.mark.long
@pytest.mark.parametrize(
    'estimator',
    [
        {'use': 'recurrent.decoder.reinforce:Reinforce', 'learned': True},
        {'use': 'recurrent.decoder.gumbel:Gumbel', 'temperature': 1.0},
        {'use': 'recurrent.decoder.straight_through:StraightThrough'},
    ],
    ids=['reinforce', 'gumbel', 'straight-through'],
)
def test_hard_attention_learns_to_follow_a_pointer(estimator):
    attention = {
        'use': 'recurrent.decoder.hard:Hard',
        'score': {'use': 'recurrent.score.general:General'},
        'estimator': estimator,
    }
    luong = {'use': 'recurrent.decoder.luong:Luong', 'attention': attention, 'input_feeding': False}
    assert taught(luong, 8000) >= RIGHT


@pytest.mark.long
def test_without_attention_it_cannot_be_guessed():
    assert taught({'use': 'recurrent.decoder.fixed_context:FixedContext', 'fed': False}, 600) < 2 / SYMBOLS + 0.1
