# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Input pipeline, through Grain: rows become batches, shuffled without end for training, once through for evaluation.

Batch number n is a function of the seed and n alone. So the whole state of the data is one integer, the same
on any number of processes: each yields its own contiguous share of every batch, and the shares of processes
0, 1, ... joined are the batch. Where rows lie in buckets by their length, a batch is of one bucket, and the buckets
take turns as often as they have batches; each runs through epochs of its own.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from saccade.data.rows.pack import Rowed, WindowRows
from saccade.data.split import Bucket, Row, RowSource, Split
from saccade.progress import counted
from saccade.types import UserError

# Grain's index shuffle computes in 32 bits.
_MOST_ROWS = 2**32


def train_batches(
    split: Split, batch_size: int, seed: int, start: int, process: int = 0, processes: int = 1
) -> Iterator[Row]:
    """Yield batches without end; each epoch has an order of its own, and batches run across its end.

    Prefetches in threads until the iterator is dropped or its `close()` is called.

    Args:
        batch_size: rows in a batch, over all processes; of shorter ones, that lie in buckets, there are more.
        start: batches already consumed.
        process: which of the `processes` this is.

    Raises:
        UserError: the batch does not divide among the processes; a number is out of range.
    """
    import grain

    _require(seed >= 0, f'seed: {seed} must not be negative')
    _require(start >= 0, f'start: {start} must not be negative')
    _require(len(split.rows) < _MOST_ROWS, f'{len(split.rows)} rows are too many to shuffle: use a larger stride')
    buckets = split.buckets or (Bucket(split.rows, 1.0),)

    def batches(bucket: Bucket) -> grain.MapDataset:
        size = bucket.batch_size(batch_size)
        share = _share(size, process, processes)
        numbers = shuffled(len(bucket.rows), seed).repeat().batch(size, drop_remainder=True)
        return numbers.map(_reader(bucket.rows, share))

    streams = [batches(bucket) for bucket in buckets]
    turns = [len(bucket.rows) / bucket.batch_size(batch_size) for bucket in buckets]
    return _prefetched(grain.MapDataset.mix(streams, turns)[start:])


def eval_batches(
    split: Split, batch_size: int, process: int = 0, processes: int = 1, limit: int | None = None
) -> Iterator[Row]:
    """Yield the rows once, in order; rows of padding fill up the last batch.

    Args:
        batch_size: rows in a batch, over all processes.
        process: which of the `processes` this is.
        limit: batches at most; None: all.

    Raises:
        UserError: the batch does not divide among the processes; a number is out of range.
    """
    import grain

    share = _share(batch_size, process, processes)
    _require(limit is None or limit >= 1, f'limit: {limit} must be at least 1 batch')
    whole = -(-len(split.rows) // batch_size) * batch_size
    batches = grain.MapDataset.range(whole).batch(batch_size)[:limit]
    return counted(_prefetched(batches.map(_reader(split.rows, share))), 'evaluating', len(batches))


def random_windows(split: Split, batch_size: int, windows: int, seed: int) -> Iterator[Row]:
    """Yield so many windows at random offsets of the stream, as nanoGPT estimates a loss.

    Raises:
        UserError: the rows are no parts of one stream of tokens, or the windows do not fill whole batches.
    """
    _require(isinstance(split.rows, Rowed), 'windows: are of a stream of tokens, and these data are examples')
    _require(
        windows >= 1 and windows % batch_size == 0,
        f'windows: {windows} must be a multiple of the batch of {batch_size} rows',
    )
    every = dataclasses.replace(split, rows=WindowRows(split.rows.tokens, split.rows.context_length, 1))
    return itertools.islice(train_batches(every, batch_size, seed, 0), windows // batch_size)


def _reader(rows: RowSource, share: slice) -> Callable[[np.ndarray], Row]:
    """Return the function from the row numbers of a whole batch to this process's share of the batch."""

    def read(numbers: np.ndarray) -> Row:
        chosen = [rows[number] if number < len(rows) else rows.padding() for number in numbers[share].tolist()]
        return {name: np.stack([row[name] for row in chosen]) for name in chosen[0]}

    return read


def _prefetched(batches: 'grain.MapDataset') -> Iterator[Row]:
    import grain

    # Making a batch is a few small copies: two threads keep ahead of the step, and eight batches are small.
    return iter(batches.to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=8)))


def _share(batch_size: int, process: int, processes: int) -> slice:
    _require(batch_size >= 1, f'batch_size: {batch_size} must be at least 1 row')
    _require(0 <= process < processes, f'process: {process} must lie between 0 and {processes - 1}')
    _require(
        batch_size % processes == 0,
        f'batch_size: {batch_size} rows do not divide among {processes} processes',
    )
    rows = batch_size // processes
    return slice(process * rows, (process + 1) * rows)


def shuffled(rows: int, seed: int) -> 'grain.MapDataset':
    """The numbers of the rows in an order of the epoch's own.

    One pass of Grain's shuffle, four rounds of a Feistel network, leaves neighbours correlated (0.4 over a million
    rows, where batches of overlapping windows should be far apart); after three passes nothing is measurable.
    Seeds are spread apart, since Grain shuffles epoch e with seed + e: 7's second epoch would be 8's first.
    """
    import grain

    numbers = grain.MapDataset.range(rows)
    for mixed in np.random.SeedSequence(seed).generate_state(3).tolist():
        numbers = numbers.shuffle(mixed)
    return numbers


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise UserError(message)
