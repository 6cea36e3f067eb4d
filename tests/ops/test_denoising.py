# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Denoising: what is read and what is written make the row again, and what is dropped is as much as was asked for."""

import functools
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.denoising import DenoiserMixture, Marks, Sequential, Spans, denoise, noise_spans
from saccade.types import UserError

T, ROWS, K = 48, 40, 32
END, START, MODE = 900, 901, 902
SENTINELS = 1000 + np.random.default_rng(0).permutation(K)  # in no order, as in T5's vocabulary they descend
DENOISERS = {
    'R': Spans(rate=0.15, mean=3.0),
    'R, with a mode': Spans(rate=0.15, mean=3.0, mode='[R]'),
    'R, single tokens': Spans(rate=0.3, mean=1.0),
    'X, much': Spans(rate=0.5, mean=3.0, mode='[X]'),
    'X, long': Spans(rate=0.5, mean=16.0),
    'X, nearly all': Spans(rate=0.9, mean=12.0),
    'S': Sequential(),
    'S, a quarter, with a mode': Sequential(least=0.1, most=0.4, mode='[S]'),
}


@pytest.fixture(params=DENOISERS)
def denoiser(request):
    return DENOISERS[request.param]


def rows():
    """Rows of every length from none to all, of few tokens that repeat, and what must not be looked at behind them."""
    lengths = np.concatenate([np.arange(T + 1), np.full(ROWS, T)])
    return np.random.default_rng(1).integers(1, 5, (len(lengths), T)), lengths


def marks(count, modes=1):
    each = [np.tile(ids, (count, 1)) for ids in (SENTINELS, MODE + np.arange(modes))]
    return Marks(*map(jnp.array, each), jnp.full(count, START), jnp.full(count, END))


@functools.partial(jax.jit, static_argnums=0)
def sides_of(mixture, key):
    tokens, lengths = rows()
    keys = jax.random.split(key, len(lengths))
    return denoise(keys, jnp.array(tokens), jnp.array(lengths), mixture, marks(len(lengths), len(mixture.denoisers)))


def denoised(denoiser, seed=0):
    """For each row: what it was, what is read and what is written, as lists."""
    found = jax.device_get(sides_of(DenoiserMixture((denoiser,), T), jax.random.key(seed)))
    for row, length, source, read, tokens, written in zip(
        *rows(), found.source, found.source_lengths, found.tokens, found.lengths, strict=True
    ):
        assert not source[read:].any()
        assert not tokens[written:].any()
        yield row[:length].tolist(), source[:read].tolist(), tokens[:written].tolist()


def restored(source, target):
    """The row, as whoever reads the paper would put it together again."""
    spans, current = {}, []
    for token in target:
        if token in SENTINELS:
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    if not spans:  # a prefix, and the rest of it
        return source + target
    return [token for part in source for token in (spans[part] if part in SENTINELS else [part])]


def stripped(denoiser, source, target):
    """Without the tokens that frame both sides, which must be there."""
    assert (source[-1], target[0], target[-1]) == (END, START, END)
    assert (source[0] == MODE) == (denoiser.mode is not None)
    return source[denoiser.mode is not None : -1], target[1:-1]


@pytest.mark.long
@pytest.mark.parametrize('seed', range(5))
def test_what_is_read_and_what_is_written_make_the_row(denoiser, seed):
    for row, source, target in denoised(denoiser, seed):
        if len(row) < 2:
            assert source == target == []
        else:
            assert restored(*stripped(denoiser, source, target)) == row


@pytest.mark.long
def test_sentinels_come_in_order_and_one_follows_the_last_span(denoiser):
    for row, source, target in denoised(denoiser):
        if len(row) < 2:
            continue
        source, target = stripped(denoiser, source, target)
        read, written = ([token for token in side if token in SENTINELS] for side in (source, target))
        assert written == list(SENTINELS[: len(written)])
        assert read == written[:-1]
        if denoiser.marked:
            assert target[0] == SENTINELS[0]
            assert target[-1] == written[-1]
            assert source[0] not in SENTINELS
            assert all(token not in SENTINELS or other not in SENTINELS for token, other in pairwise(source))


def test_a_sequential_denoiser_is_a_prefix_lm():
    lengths = set()
    for row, source, target in (each for seed in range(20) for each in denoised(DENOISERS['S'], seed)):
        if len(row) == T:
            source, target = stripped(DENOISERS['S'], source, target)
            assert (source, target) == (row[: len(source)], row[len(source) :])
            lengths.add(len(source))
    assert lengths == set(range(1, T))  # any prefix, and never all or nothing


@pytest.mark.long
def test_as_much_is_dropped_as_was_asked_for_and_in_spans_as_long():
    for denoiser in DENOISERS.values():
        if not denoiser.marked:
            continue
        for row, source, target in denoised(denoiser):
            if len(row) == T:
                _, target = stripped(denoiser, source, target)
                dropped = len([token for token in target if token not in SENTINELS])
                spans = len(target) - dropped - 1
                assert abs(dropped - denoiser.rate * T) <= 0.5
                assert abs(spans - dropped / denoiser.mean) <= 0.5


@pytest.mark.long
def test_in_long_rows_rate_and_mean_are_what_was_asked_for():
    """UL2's own seven, of its own 512 tokens: table 1 of the paper."""
    length = 512
    for rate, mean in ((0.15, 3), (0.15, 8), (0.5, 3), (0.5, 8), (0.15, 64), (0.5, 64)):
        counts = Spans(rate=rate, mean=float(mean)).counts(length)
        assert counts.least[-1] == counts.most[-1] == pytest.approx(rate * length, abs=0.5)
        assert counts.least[-1] / counts.spans[-1] == pytest.approx(mean, rel=0.25 if rate * length < 128 else 0.03)
    quarter = [
        len(target) - 2
        for seed in range(20)
        for row, _, target in denoised(Sequential(most=0.5), seed)
        if len(row) == T
    ]
    assert np.mean(quarter) == pytest.approx(T / 4, rel=0.05)


def test_every_way_to_cut_is_equally_probable():
    """6 kept tokens and 4 dropped, in 2 spans: 5 ways to cut the first, and 3 to cut the second."""
    keys = jax.random.split(jax.random.key(0), 15 * 400)
    noise = jax.jit(jax.vmap(lambda key: noise_spans(key, jnp.array(10), jnp.array(4), jnp.array(2), 12)))(keys)
    cuts, counts = np.unique(np.asarray(noise), axis=0, return_counts=True)
    assert len(cuts) == 15
    assert not cuts[:, 0].any()
    assert not cuts[:, 10:].any()
    assert cuts[:, 9].all()
    assert (np.diff(cuts.astype(int), axis=-1) == 1).sum(axis=-1).tolist() == [2] * 15
    assert np.abs(counts - 400).max() < 5 * 400**0.5


@pytest.mark.long
def test_a_row_is_corrupted_by_its_key_alone():
    tokens, lengths = (jnp.array(each) for each in rows())
    mixture, keys = (
        DenoiserMixture((DENOISERS['R'], DENOISERS['S']), T),
        jax.random.split(jax.random.key(3), len(lengths)),
    )
    whole = denoise(keys, tokens, lengths, mixture, marks(len(lengths), 2))
    some = jnp.array([70, 20, 60])
    alone = denoise(keys[some], tokens[some], lengths[some], mixture, marks(3, 2))
    jax.tree.map(np.testing.assert_array_equal, alone, jax.tree.map(lambda leaf: leaf[some], whole))


@pytest.mark.long
def test_rows_get_denoisers_by_their_weights_with_the_mode_of_each():
    denoisers = (
        Spans(rate=0.15, mean=3.0, mode='[R]', weight=1.0),
        Sequential(mode='[S]', weight=2.0),
        Spans(rate=0.5, mean=8.0, weight=5.0),
    )
    found = [jax.device_get(sides_of(DenoiserMixture(denoisers, T), jax.random.key(seed))) for seed in range(20)]
    which = np.concatenate([each.which for each in found])
    np.testing.assert_allclose(np.bincount(which) / len(which), [1 / 8, 2 / 8, 5 / 8], atol=0.04)
    for each in found:
        for own, source, tokens, length in zip(each.which, each.source, each.tokens, each.lengths, strict=True):
            if length:
                assert (source[0] - MODE == own) == (own < 2)
                assert np.isin(SENTINELS[0], tokens) == (own != 1)


@pytest.mark.long
def test_the_sizes_of_a_mixture_are_reached_and_never_passed(denoiser):
    mixture = DenoiserMixture((denoiser,), T)
    found = [side for seed in range(60) for side in denoised(denoiser, seed)]
    assert mixture.sizes == tuple(max(len(each[side]) for each in found) - minus for side, minus in ((1, 0), (2, 1)))
    spans = max(len([token for token in target if token in SENTINELS]) for _, _, target in found)
    assert mixture.sentinels == spans


@pytest.mark.parametrize(
    ('make', 'said'),
    [
        (lambda: Spans(rate=0.15, mean=0.5), 'mean must be at least 1 tokens'),
        (lambda: Spans(rate=0.8, mean=3.0), 'mean must be at least 4 tokens'),
        (lambda: Sequential(least=0.5, most=0.2), 'in this order'),
        (lambda: Sequential(most=1.5), 'shares of 1'),
        (
            lambda: DenoiserMixture((Spans(rate=0.15, mean=32.0),), 96).sizes,
            'rows of 96 tokens lose 14.4 .* a span of 32',
        ),
        (lambda: DenoiserMixture((Sequential(),), 1).sizes, 'no prefix with a rest'),
        (lambda: DenoiserMixture((), 8), 'at least one denoiser'),
    ],
)
def test_what_cannot_be_is_refused(make, said):
    with pytest.raises(UserError, match=said):
        make()
