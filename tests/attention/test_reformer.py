# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Reformer's LSH attention: as a loop over the paper's sets, one bucket, who reads whom, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.reformer import Reformer
from saccade.ops.hashing import buckets_of, rotations
from saccade.ops.mask import Causal, Full
from saccade.types import LayerContext, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, N = 2, 23, 8, 2
H = D // N
MASKS = {True: Causal(), False: Full()}
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))


def drawn(module):
    random = np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), X))['params']
    return {'params': jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), jnp.float32), shapes)}


def assert_near(given, expected):
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


def read_by(buckets, block, causal):
    """The sets P_i of the paper, by a loop: buckets [R T] to a table [T T] of who reads whom."""
    found = np.zeros((buckets.shape[1],) * 2, bool)
    for of_round in buckets:
        for bucket in set(of_round.tolist()):
            members = np.flatnonzero(of_round == bucket)
            chunks = np.arange(len(members)) // block
            for i, chunk in zip(members, chunks, strict=True):
                found[i, members[(chunks == chunk) | (chunks == chunk - 1)]] = True
    if causal:
        found &= np.tri(len(found), dtype=bool)
    alone = ~(found & ~np.eye(len(found), dtype=bool)).any(axis=1)
    np.fill_diagonal(found, alone)
    return found


@pytest.mark.long
@pytest.mark.parametrize('causal', MASKS)
@pytest.mark.parametrize(('buckets', 'rounds', 'block'), [(2, 1, 3), (4, 3, 2), (8, 4, 1), (6, 2, 40)])
def test_rounds_are_one_softmax_over_the_sets_of_the_paper(buckets, rounds, block, causal):
    mixer = Reformer(heads=N, buckets=buckets, rounds=rounds, block=block, mask=MASKS[causal], seed=3)
    params = drawn(mixer)
    own = {name: np.asarray(leaf, np.float64) for name, leaf in params['params'].items()}
    x, expected, directions = np.asarray(X, np.float64), np.zeros((B, T, D)), rotations(N, H, rounds, buckets, 3)
    for b, n in np.ndindex(B, N):
        q, v = (x[b] @ own[name][:, n] for name in ('query', 'value'))
        turned = np.einsum('th,hrx->rtx', q, directions[n])
        found = read_by(np.concatenate([turned, -turned], axis=-1).argmax(axis=-1), block, causal)
        scores = np.where(found, q @ (q / np.linalg.norm(q, axis=-1, keepdims=True)).T, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        expected[b] += weights / weights.sum(axis=-1, keepdims=True) @ v @ own['output'][n]
    assert_near(mixer.apply(params, X), expected)


@pytest.mark.parametrize('causal', MASKS)
@pytest.mark.parametrize('rounds', [1, 3])
def test_one_bucket_is_full_attention_with_shared_queries_and_keys(rounds, causal):
    mixer = Reformer(heads=N, buckets=4, rounds=rounds, block=T, mask=MASKS[causal])
    params = drawn(mixer)
    alike = X.at[:].add(100.0)  # in one direction, so in one bucket
    q, v = (jnp.einsum('btd,dnh->btnh', alike, params['params'][name]) for name in ('query', 'value'))
    assert (np.ptp(buckets_of(q, rotations(N, H, rounds, 4, 0)), axis=-1) == 0).all()
    scores = jnp.einsum('btnh,bsnh->bnts', q, q / jnp.linalg.norm(q, axis=-1, keepdims=True))
    others = np.tri(T, dtype=bool) if causal else np.ones((T, T), bool)
    others = others & ~np.eye(T, dtype=bool)
    others[0, 0] |= causal
    weights = jax.nn.softmax(jnp.where(others, scores, -jnp.inf), axis=-1)
    expected = jnp.einsum('bnts,bsnh,nhd->btd', weights, v, params['params']['output'])
    assert_near(mixer.apply(params, alike), np.asarray(expected))


def test_a_token_reads_itself_only_where_there_is_no_other():
    mixer = Reformer(heads=N, buckets=2, block=T, mask=Causal())
    params = drawn(mixer)
    alike = X + 100.0  # in one bucket: the first token reads itself, and so does the second read the first
    values = jnp.einsum('btd,dnh->btnh', alike, params['params']['value'])
    first = jnp.einsum('bnh,nhd->bd', values[:, 0], params['params']['output'])
    y = mixer.apply(params, alike)
    assert_near(y[:, 0], np.asarray(first))
    assert_near(y[:, 1], np.asarray(first))


@pytest.mark.long
def test_later_tokens_and_other_documents_change_nothing_at_all():
    mixer = Reformer(heads=N, buckets=4, rounds=2, block=2, mask=Causal())
    params = drawn(mixer)
    y = mixer.apply(params, X)
    changed = X.at[:, 9:].set(X[:, 9:][:, ::-1] - 1.0)
    np.testing.assert_array_equal(mixer.apply(params, changed)[:, :9], y[:, :9])
    segments = jnp.concatenate([jnp.ones((B, 9), int), jnp.full((B, T - 9), 2)], axis=1)
    packed = mixer.apply(params, X, CONTEXT.replace(segments=segments))
    assert_near(packed[:, 9:], mixer.apply(params, X[:, 9:]))


def test_an_odd_number_of_buckets_is_refused():
    with pytest.raises(UserError, match=r'attention\.reformer:Reformer: buckets 3 must be an even number'):
        Reformer(heads=N, buckets=3, block=4).init(jax.random.key(0), X)
