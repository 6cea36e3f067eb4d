# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of a batch, and a check of their segments and positions."""

import numpy as np


def rows_of(array):
    """The rows of an example: one, or one for each of several texts."""
    return array.reshape(-1, array.shape[-1])


def assert_whole(segments, positions):
    """Rows have no gaps: segments one after another, each counted from 0 place by place, and padding after them."""
    for row, places in zip(segments, positions, strict=True):
        used = np.count_nonzero(row)
        assert row[:used].all(), 'padding stands before a token'
        begins = np.flatnonzero(np.diff(row[:used], prepend=0))
        assert len(begins) == len(np.unique(row[:used])), 'a segment is interrupted'
        starts = np.repeat(begins, np.diff(begins, append=used))
        np.testing.assert_array_equal(places, np.pad(np.arange(used) - starts, (0, len(row) - used)))
