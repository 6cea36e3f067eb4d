# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Input pipeline, through Grain: rows become batches, shuffled and repeated for training, in order once for evaluation.

Batch n is a function of only the seed and n. So the state of the data is one integer, on any number of processes: each
yields its contiguous share of every batch, and the shares of processes 0, 1, ... joined are the batch. If rows are in
buckets by length, a batch has rows of one bucket; buckets are mixed in proportion to their numbers of batches, and each
has its own epochs. So have the shares of a mixture, whose rows are mixed within each batch, in proportion to weights.
"""

import dataclasses
import functools
import itertools
import operator
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
    """Yield batches endlessly; each epoch has a new order, and a batch may span two epochs.

    Prefetches in threads until the iterator is dropped or its `close()` is called.

    Args:
        batch_size: number of rows per batch over all processes; for a bucket of shorter rows it is larger.
        start: number of batches already consumed.
        process: index of this process among `processes`.

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
        numbers = _endless(bucket, seed).batch(size, drop_remainder=True)
        return numbers.map(_reader(bucket.rows, share))

    streams = [batches(bucket) for bucket in buckets]
    turns = [len(bucket.rows) / bucket.batch_size(batch_size) for bucket in buckets]
    return _prefetched(grain.MapDataset.mix(streams, turns)[start:])


def eval_batches(
    split: Split, batch_size: int, process: int = 0, processes: int = 1, limit: int | None = None
) -> Iterator[Row]:
    """Yield the rows once, in order; the last batch is filled up with padding rows.

    Args:
        batch_size: number of rows per batch over all processes.
        process: index of this process among `processes`.
        limit: maximum number of batches; None for all.

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
    """Yield `windows` windows at random offsets of the stream, as in nanoGPT's loss estimate.

    Raises:
        UserError: the rows are not parts of one stream of tokens, or the windows do not fill whole batches.
    """
    _require(isinstance(split.rows, Rowed), 'windows: need a stream of tokens, but these data are separate examples')
    _require(
        windows >= 1 and windows % batch_size == 0,
        f'windows: {windows} must be a multiple of the batch of {batch_size} rows',
    )
    every = dataclasses.replace(split, rows=WindowRows(split.rows.tokens, split.rows.context_length, 1))
    return itertools.islice(train_batches(every, batch_size, seed, 0), windows // batch_size)


def _reader(rows: RowSource, share: slice) -> Callable[[np.ndarray], Row]:
    """Return a function from the row numbers of a whole batch to this process's share of the batch."""

    def read(numbers: np.ndarray) -> Row:
        chosen = [rows[number] if number < len(rows) else rows.padding() for number in numbers[share].tolist()]
        return {name: np.stack([row[name] for row in chosen]) for name in chosen[0]}

    return read


def _prefetched(batches: 'grain.MapDataset') -> Iterator[Row]:
    import grain

    # Building a batch is a few small copies: two threads keep ahead of the step, and eight batches need little memory.
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


def _endless(bucket: Bucket, seed: int) -> 'grain.MapDataset':
    """Return the row numbers of a bucket, endlessly: by the weights of its shares, each with its own epochs."""
    import grain

    if not bucket.shares:
        return shuffled(len(bucket.rows), seed).repeat()
    firsts = itertools.accumulate((share.rows for share in bucket.shares), initial=0)
    streams = [
        shuffled(share.rows, seed).repeat().map(functools.partial(operator.add, first))
        for share, first in zip(bucket.shares, firsts, strict=False)
    ]
    return grain.MapDataset.mix(streams, [share.weight for share in bucket.shares])


def shuffled(rows: int, seed: int) -> 'grain.MapDataset':
    """Return the row numbers, in a new order for each epoch.

    One pass of Grain's shuffle, four rounds of a Feistel network, leaves neighbours correlated (0.4 over a million
    rows, although batches of overlapping windows should be far apart); after three passes no correlation is measurable.
    Seeds are hashed, since Grain shuffles epoch e with seed + e: seed 7's second epoch would be seed 8's first.
    """
    import grain

    numbers = grain.MapDataset.range(rows)
    for mixed in np.random.SeedSequence(seed).generate_state(3).tolist():
        numbers = numbers.shuffle(mixed)
    return numbers


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise UserError(message)
