# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""One vector holds a short sequence and no long one; attention looks symbols up: `experiments/sweeps/bottleneck.py`."""

import jax
import pytest
from learning import Lesson, framed, recurrent

SYMBOLS, WIDTH = 10, 64
SHORT, LONG = 5, 30
RIGHT = 0.95  # share of tokens

FIXED = {'use': 'recurrent.decoder.fixed_context:FixedContext', 'fed': True}
ATTENTION = {
    'use': 'recurrent.decoder.luong:Luong',
    'attention': {'use': 'recurrent.decoder.soft:Soft', 'score': {'use': 'recurrent.score.general:General'}},
    'input_feeding': False,
}


def accuracy(decoder, length, backwards):
    """The share of tokens that are right after as many steps as attention needs at most."""

    def draw(key, count):
        symbols = jax.random.randint(key, (count, length), 1, SYMBOLS + 1)
        return framed(symbols, symbols[:, ::-1] if backwards else symbols)

    lesson = Lesson(draw, rows=64, steps=400, peak=5e-3, enough=lambda learned: learned.tokens >= RIGHT)
    sizes = {'vocabulary': 1 + SYMBOLS, 'source_context_length': length + 1, 'context_length': length + 1}
    return lesson.taught(recurrent(decoder, WIDTH, bidirectional=True, **sizes)).tokens


@pytest.mark.long
@pytest.mark.parametrize('backwards', [False, True], ids=['copy', 'reverse'])
def test_without_attention_accuracy_falls_with_length_and_with_it_it_does_not(backwards):
    short, long = (accuracy(FIXED, length, backwards) for length in (SHORT, LONG))
    assert short > long + 0.2
    assert accuracy(ATTENTION, LONG, backwards) >= RIGHT
