# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Writing greedily from a source against a plain Python loop over whole sequences."""

import jax
import jax.numpy as jnp
import pytest
from toy_seq2seq import made

from saccade.data.rows.pair_frame import PairFrame
from saccade.decode.greedy import Greedy, sample
from saccade.decode.sampling import Sampler
from saccade.types import LayerContext

MODEL, PARAMS = made(context_length=9, scale=1.5)
END = 8
FRAME = PairFrame(MODEL.source_context_length, MODEL.context_length, start=0, end=END)
SOURCES = ([3], [4, 5, 6], [7, 9, 9, 10, 11, 3], [5, 4], [9, 9, 9, 3], [3, 8])


def batch(sources):
    rows = [FRAME.row(source) for source in sources]
    return {name: jnp.stack([row[name] for row in rows]) for name in rows[0]}


def logits_after(source, written):
    """Logits of the token after those written, by the whole model on a source without padding."""
    read, tokens = jnp.array([[*source, FRAME.end]]), jnp.array([[FRAME.start, *written]])
    contexts = (LayerContext(jnp.arange(each.shape[1])[None], jnp.ones(each.shape, int)) for each in (read, tokens))
    return MODEL.apply({'params': PARAMS}, read, next(contexts), tokens, next(contexts), False)[0, -1]


def plainly(source, most, choose=lambda logits, at: int(logits.argmax())):
    written = []
    while len(written) < most:
        token = choose(logits_after(source, written), len(written))
        if token == FRAME.end:
            break
        written.append(token)
    return written


@pytest.fixture(scope='module')
def greedy():
    written = jax.jit(lambda rows: Greedy()(MODEL, PARAMS, rows))(batch(SOURCES))
    return [ids[:count].tolist() for ids, count in zip(written.tokens, written.counts, strict=True)]


@pytest.mark.long
def test_it_equals_the_plain_loop_token_for_token(greedy):
    assert greedy == [plainly(source, MODEL.context_length) for source in SOURCES]


@pytest.mark.long
def test_rows_end_before_their_end_token_at_different_lengths(greedy):
    lengths = {len(ids) for ids in greedy}
    assert len(lengths) > 1
    assert min(lengths) < MODEL.context_length
    assert all(FRAME.end not in ids for ids in greedy)


@pytest.mark.long
def test_a_bound_is_kept():
    written = Greedy(max_tokens=2)(MODEL, PARAMS, batch(SOURCES))
    assert written.tokens.shape == (len(SOURCES), 2)
    assert [ids[:count].tolist() for ids, count in zip(written.tokens, written.counts, strict=True)] == [
        plainly(source, 2) for source in SOURCES
    ]


@pytest.mark.long
def test_a_row_does_not_depend_on_the_others(greedy):
    alone = Greedy()(MODEL, PARAMS, batch(SOURCES[2:3]))
    assert alone.tokens[0, : alone.counts[0]].tolist() == greedy[2]


@pytest.mark.long
def test_samples_are_those_of_the_plain_loop_with_the_same_keys():
    key, sampler = jax.random.key(5), Sampler(1.3, top_k=5)
    written = sample(MODEL, PARAMS, batch(SOURCES), sampler, key)
    for number, source in enumerate(SOURCES):
        own = jax.random.fold_in(key, number)

        def choose(logits, at, own=own):
            return int(sampler(logits, jax.random.fold_in(own, at)))

        assert written.tokens[number, : written.counts[number]].tolist() == plainly(
            source, MODEL.context_length, choose
        )
