# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A fixed context vector is enough for short sequences: they are learned to be written backwards."""

import jax
import jax.numpy as jnp
import pytest
from learning import Lesson, framed, recurrent

SYMBOLS, LONGEST, WIDTH = 5, 10, 96
EXACT = 0.99  # share of rows without a mistake


def reversed_symbols(key, count):
    """Up to LONGEST symbols, and the same backwards."""
    of_length, of_symbols = jax.random.split(key)
    length = jax.random.randint(of_length, (count, 1), 1, LONGEST + 1)
    symbols = jax.random.randint(of_symbols, (count, LONGEST), 1, SYMBOLS + 1)
    place = jnp.arange(LONGEST)
    backwards = jnp.take_along_axis(symbols, jnp.clip(length - 1 - place, 0, LONGEST - 1), axis=1)
    return framed(*(jnp.where(place < length, each, -1) for each in (symbols, backwards)))


@pytest.mark.long
@pytest.mark.parametrize('fed', [False, True], ids=['initial state', 'every step'])
def test_a_fixed_context_carries_up_to_ten_symbols(fed):
    decoder = {'use': 'recurrent.decoder.fixed_context:FixedContext', 'fed': fed}
    sizes = {'vocabulary': SYMBOLS + 1, 'source_context_length': LONGEST + 1, 'context_length': LONGEST + 1}
    model = recurrent(decoder, WIDTH, bidirectional=False, bridge={'use': 'recurrent.decoder.copied:Copied'}, **sizes)
    lesson = Lesson(reversed_symbols, rows=64, steps=1500, peak=8e-3, enough=lambda learned: learned.rows >= EXACT)
    assert lesson.taught(model).rows >= EXACT
