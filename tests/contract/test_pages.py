# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A KV cache in pages, for every mixer and block that decodes: steps equal the whole, and samples the plain cache's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from decoders import decoding, small, unless_refused
from discovery import CATALOGUE, X, assert_near, mixing, subject_of

from saccade.attention.paged import apart, joined
from saccade.decode.generate import generate
from saccade.decode.paged import Paging, generate_paged
from saccade.decode.sampling import Sampler
from saccade.types import LayerContext, Pages

F32_RELATIVE = 1e-5  # of the largest element
CHUNKS = (4, 1, 4)
PADDED_LEFT = jnp.array([[1, 1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1, 1]])
PAGES = Pages(count=7, size=4, most=3)
TABLE = jnp.array([[5, 0, 3], [1, 6, 2]])  # no two pages of a row are neighbours, nor in order
NEW = 12
WAY_OUT = 'decode without --paged'


@pytest.mark.long
@pytest.mark.parametrize('name', decoding(mixing()))
def test_steps_with_pages_that_held_other_tokens_replay_the_whole(name):
    subject = subject_of(name)
    context = LayerContext(jnp.maximum(jnp.cumsum(PADDED_LEFT, axis=1) - 1, 0), PADDED_LEFT)
    whole = subject.jitted(subject.params, X, context)
    made, message = unless_refused(lambda: subject.module.apply(subject.params, X[:, :1], PAGES, method='init_pages'))
    if made is None:
        assert WAY_OUT in message
        return
    pools, rows = apart(made)
    pools = jax.tree.map(jnp.ones_like, pools)
    step = jax.jit(lambda *chunk: subject.module.apply(subject.params, *chunk, method='step'))
    # The pages of the rows hold other tokens of the same segments, at the same positions.
    pools, _ = apart(step(X[::-1, ::-1], context, joined(pools, rows, TABLE))[1])
    state, parts, start = joined(pools, rows, TABLE), [], 0
    for count in CHUNKS:
        here = slice(start, start + count)
        part, state = step(X[:, here], LayerContext(context.positions[:, here], PADDED_LEFT[:, here]), state)
        parts.append(part)
        start += count
    real = PADDED_LEFT != 0
    assert_near(jnp.concatenate(parts, axis=1)[real], whole[real], F32_RELATIVE)
    after, _ = apart(state)
    for pool in after:  # page 4 is no row's, and page 2 of the second row is not reached
        np.testing.assert_array_equal(pool.k[jnp.array([4, 2])], 1)


@pytest.mark.long
@pytest.mark.parametrize('name', decoding(CATALOGUE.mixers()))
def test_samples_of_a_prompt_equal_those_with_the_plain_cache(name):
    model, params = small(name)
    prompts = 3 * [list(range(3, 17))]
    given = model, params, prompts, Sampler(1.0), NEW, jax.random.key(2)
    plain = generate(*given)
    assert len({tuple(row) for row in plain}) == 3
    made, message = unless_refused(lambda: generate_paged(*given, paging=Paging(8)))
    if made is None:
        assert WAY_OUT in message
        return
    paged, usage = made
    assert paged == plain
    # 13 tokens of the prompt and 12 new ones: one page of 8 is shared, and each row has three of its own.
    assert usage.pages == usage.pool == 1 + 3 * 3
