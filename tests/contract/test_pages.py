# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A KV cache in pages, for every mixer and block that decodes: steps equal the whole, and samples the plain cache's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from discovery import CATALOGUE, D, X, assert_near, mixing, subject_of

from saccade.analysis.catalogue.catalogue import can
from saccade.attention.paged import apart, joined
from saccade.build import build
from saccade.decode.generate import generate
from saccade.decode.paged import Paging, generate_paged
from saccade.decode.sampling import Sampler
from saccade.types import LayerContext, Pages, UserError

F32_RELATIVE = 1e-5  # of the largest element
CHUNKS = (4, 1, 4)
PADDED_LEFT = jnp.array([[1, 1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1, 1]])
PAGES = Pages(count=7, size=4, most=3)
TABLE = jnp.array([[5, 0, 3], [1, 6, 2]])  # no two pages of a row are neighbours, nor in order
NEW, VOCABULARY = 12, 40
WAY_OUT = 'decode without --paged'


def decoding(names):
    return [name for name in names if can(mixing()[name][0]).cached and can(mixing()[name][0]).causal]


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
    pools = jax.tree.map(jnp.ones_like, pools)  # tokens of the same segment, not later than those of the rows
    step = jax.jit(lambda *chunk: subject.module.apply(subject.params, *chunk, method='step'))
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


def unless_refused(make):
    """What is made and no message, or None and the message of the refusal."""
    try:
        return make(), ''
    except UserError as refused:
        return None, str(refused)


def small(mixer):
    """A model of two layers with this mixer."""
    norm = {'use': 'norm.rms:RMSNorm'}
    feedforward = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
    block = {'use': 'block.pre_norm:PreNorm', 'norm': norm, 'mixer': mixer, 'feedforward': feedforward}
    return {
        'use': 'model.decoder:Decoder', 'vocabulary': VOCABULARY, 'context_length': 32, 'width': D, 'layers': 2,
        'block': block, 'norm': norm, 'position': {'use': 'position.sinusoid:Sinusoid'},
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize('name', decoding(CATALOGUE.mixers()))
def test_samples_of_a_prompt_equal_those_with_the_plain_cache(name):
    model = build(small(mixing()[name][0]))()
    tokens = jnp.zeros((1, 4), jnp.int32)
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), tokens, LayerContext(jnp.arange(4)[None]), False))
    random = np.random.default_rng(0)
    params = jax.tree.map(
        lambda leaf: jnp.asarray(random.normal(leaf.ndim < 3, 0.5, leaf.shape), leaf.dtype), shapes['params']
    )
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
