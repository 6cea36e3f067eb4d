# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Batches: a function of the seed and the batch's number, on any number of processes."""

import gc
import itertools
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from saccade.data.pipeline import eval_batches, random_windows, shuffled, train_batches
from saccade.data.rows.pack import Padded
from saccade.data.split import Bucket, Split, bucketed
from saccade.data.text.stream import TextSplit
from saccade.types import UserError

ROWS = 10


def _split(rows=ROWS):
    """Each row is one document [n, n] of its own."""
    tokens = np.repeat(np.arange(rows, dtype=np.uint16), 2)
    bounds = np.stack([np.arange(0, 2 * rows, 2), np.arange(2, 2 * rows + 2, 2)], axis=-1)
    packed = Padded().rows(tokens, Padded().index(bounds, 3, True), 3)
    return TextSplit(rows=packed, targets=rows, bytes=rows, tokens=2 * rows, documents=rows)


class Examples:
    """Rows of no stream: a single example."""

    def __len__(self):
        return 1

    def __getitem__(self, row):
        return self.padding()

    def padding(self):
        return {'tokens': np.zeros(4, np.int32)}


def _take(iterator, count):
    taken = [batch['tokens'][:, 0].tolist() for batch in itertools.islice(iterator, count)]
    iterator.close()
    return taken


def _train(count, batch_size=4, seed=0, start=0, **processes):
    return _take(train_batches(_split(), batch_size, seed, start, **processes), count)


def test_batches_are_stacked_rows():
    batch = next(train_batches(_split(), 4, 0, 0))
    assert set(batch) == {'tokens', 'segments', 'positions'}
    assert all((array.shape, array.dtype) == ((4, 4), np.int32) for array in batch.values())
    assert batch['segments'].tolist() == [[1, 1, 0, 0]] * 4


def test_each_epoch_holds_each_row_once_in_an_order_of_its_own():
    flat = np.concatenate(_train(10)).tolist()
    epochs = [flat[start : start + ROWS] for start in range(0, 40, ROWS)]
    assert all(sorted(epoch) == list(range(ROWS)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4


def _buckets(*buckets):
    """Rows [n, ...] of each (rows, tokens of a row): times 4 / tokens as many as fill 4 tokens."""
    sources, first = [], 0
    for rows, tokens in buckets:
        sources.append(Bucket(_Numbered(range(first, first + rows), tokens), 4 / tokens))
        first += rows
    return replace(_split(first), buckets=tuple(sources))


class _Numbered:
    def __init__(self, numbers, tokens):
        self._numbers, self._tokens = numbers, tokens

    def __len__(self):
        return len(self._numbers)

    def __getitem__(self, row):
        return {'tokens': np.full(self._tokens, self._numbers[row])}

    def padding(self):
        return {'tokens': np.zeros(self._tokens)}


def _bucketed(count, start=0, **processes):
    iterator = train_batches(_buckets((8, 4), (24, 2), (32, 1)), 4, 0, start, **processes)
    taken = [batch['tokens'] for batch in itertools.islice(iterator, count)]
    iterator.close()
    return taken


def test_batches_of_buckets_have_one_length_and_about_as_many_tokens():
    assert {batch.shape for batch in _bucketed(14)} == {(4, 4), (8, 2), (16, 1)}


def test_an_epoch_of_buckets_holds_each_row_once():
    batches = _bucketed(14)  # 2 + 3 + 2 an epoch
    for epoch in (batches[:7], batches[7:]):
        assert sorted(np.concatenate([batch[:, 0] for batch in epoch]).tolist()) == list(range(64))
    assert [batch.shape for batch in batches[:7]] != sorted(batch.shape for batch in batches[:7])


@pytest.mark.long
def test_batches_of_buckets_are_a_function_of_their_number_and_are_shared_out():
    whole = _bucketed(10)
    for resumed, batch in zip(_bucketed(6, start=4), whole[4:], strict=True):
        np.testing.assert_array_equal(resumed, batch)
    halves = zip(*(_bucketed(10, process=process, processes=2) for process in range(2)), strict=True)
    for halved, batch in zip(halves, whole, strict=True):
        np.testing.assert_array_equal(np.concatenate(halved), batch)


@pytest.mark.parametrize(('longest', 'times', 'rows'), [(80, 52 / 12, 336), (80, 1.0, 80), (6, 2.6, 14), (7, 1.5, 10)])
def test_a_batch_of_shorter_rows_divides_by_the_powers_of_two_that_one_of_the_longest_divides_by(longest, times, rows):
    assert bucketed(longest, times) == rows


@pytest.mark.long
@pytest.mark.parametrize('seed', [0, 1])
def test_neighbours_in_the_order_are_strangers_in_the_data(seed):
    count = 20_000
    rows = np.array([shuffled(1_000_000, seed)[number] for number in range(count)], float)
    assert abs(np.corrcoef(rows[:-1], rows[1:])[0, 1]) < 4 / np.sqrt(count)


@pytest.mark.long
def test_the_seed_decides_the_order():
    assert _train(5, seed=1) == _train(5, seed=1)
    assert _train(5, seed=1) != _train(5, seed=2)


def test_epochs_of_one_seed_are_not_those_of_the_next():
    later = _train(6, batch_size=5, seed=0)[2:]
    assert later != _train(4, batch_size=5, seed=1)


@pytest.mark.long
@pytest.mark.parametrize('start', [1, 2, 7, 100])
def test_resuming_is_exact(start):
    assert _train(3, start=start) == _train(start + 3)[start:]


def test_resuming_far_ahead_needs_no_replay():
    assert _train(2, start=10**12) == _train(3, start=10**12 - 1)[1:]


@pytest.mark.long
@pytest.mark.parametrize('processes', [2, 4])
def test_shares_joined_are_the_batch(processes):
    shares = [_train(7, process=process, processes=processes, start=3) for process in range(processes)]
    joined = np.concatenate(shares, axis=1).tolist()
    assert joined == _train(7, start=3)


def test_a_batch_may_be_larger_than_the_data():
    (batch,) = _train(1, batch_size=25)
    assert np.bincount(batch, minlength=ROWS).min() == 2


def test_single_rows():
    assert sorted(np.concatenate(_train(ROWS, batch_size=1))) == list(range(ROWS))
    assert _take(eval_batches(_split(), 1), 2) == [[0], [1]]


def test_evaluation_is_once_through_in_order_and_filled_up():
    batches = list(eval_batches(_split(), 4))
    assert [batch['tokens'].shape for batch in batches] == [(4, 4)] * 3
    rows = np.concatenate([batch['tokens'][:, 0] for batch in batches])
    real = np.concatenate([batch['segments'][:, 0] for batch in batches]) > 0
    assert rows[real].tolist() == list(range(ROWS))
    assert real.tolist() == [True] * ROWS + [False] * 2


def test_random_windows_start_anywhere_and_are_as_many_as_asked():
    batches = list(random_windows(_split(), 4, 16, seed=0))
    assert [batch['tokens'].shape for batch in batches] == 4 * [(4, 4)]
    starts = {tuple(row) for batch in batches for row in batch['tokens'].tolist()}
    assert (0, 0, 1, 1) in starts
    assert (0, 1, 1, 2) in starts
    with pytest.raises(UserError, match='multiple of the batch of 4'):
        random_windows(_split(), 4, 18, seed=0)
    with pytest.raises(UserError, match='windows: need a stream of tokens'):
        random_windows(Split(rows=Examples(), targets=1), 4, 16, seed=0)


@pytest.mark.parametrize('processes', [2, 4])
def test_evaluation_shares_joined_are_the_batch(processes):
    shares = [_take(eval_batches(_split(), 4, process, processes), 9) for process in range(processes)]
    joined = np.concatenate(shares, axis=1).tolist()
    assert joined == _take(eval_batches(_split(), 4), 9)


def test_evaluation_stops_at_its_limit():
    assert len(_take(eval_batches(_split(), 4, limit=2), 9)) == 2
    assert len(_take(eval_batches(_split(), 4, limit=50), 9)) == 3


def _threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith('grain-prefetch')]


@pytest.mark.long
@pytest.mark.parametrize('leave', ['close', '__del__'])
def test_iterators_leave_no_thread(leave):
    gc.collect()
    iterator = train_batches(_split(), 4, 0, 0)
    next(iterator)
    assert _threads()
    getattr(iterator, leave)()
    del iterator
    gc.collect()
    deadline = time.monotonic() + 10
    while _threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _threads()


@pytest.mark.long
def test_a_program_that_drops_its_iterator_ends_quietly():
    program = f"""
import sys
sys.path.insert(0, {str(__file__).rpartition('/')[0]!r})
from test_pipeline import _split
from saccade.data.pipeline import train_batches
batches = train_batches(_split(), 4, 0, 0)
next(batches)
"""
    done = subprocess.run([sys.executable, '-W', 'error', '-c', program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, '')


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'batch_size': 0}, 'batch_size'),
        ({'seed': -1}, 'seed'),
        ({'start': -1}, 'start'),
        ({'batch_size': 4, 'processes': 3}, '4 rows do not divide among 3'),
        ({'process': 2, 'processes': 2}, 'process'),
    ],
)
def test_bad_numbers(arguments, message):
    with pytest.raises(UserError, match=message):
        train_batches(_split(), **{'batch_size': 4, 'seed': 0, 'start': 0, **arguments})


def test_bad_limit():
    with pytest.raises(UserError, match='limit'):
        eval_batches(_split(), 4, limit=0)
