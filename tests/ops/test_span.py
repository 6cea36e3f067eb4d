# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The best span of a row, beside all spans looked at one by one."""

import numpy as np
import pytest

from saccade.ops.span import best_spans

R, T = 40, 9


def drawn(hidden):
    """Scores of starts and stops, of which a share is no place for a span."""
    generator = np.random.default_rng(0)
    start, stop = generator.normal(size=(2, R, T)).astype(np.float32)
    nowhere = generator.random((R, T)) < hidden
    return np.where(nowhere, -np.inf, start), np.where(nowhere, -np.inf, stop)


@pytest.mark.parametrize('longest', [1, 2, 4, T, 3 * T])
@pytest.mark.parametrize('hidden', [0.0, 0.6])
def test_it_is_the_best_of_all(longest, hidden):
    start, stop = drawn(hidden)
    first, last, score = best_spans(start, stop, longest)
    for row in range(R):
        spans = {(i, j): start[row, i] + stop[row, j] for i in range(T) for j in range(i, min(T, i + longest))}
        best = max(spans, key=spans.get)
        assert score[row] == spans[best]
        if np.isfinite(score[row]):
            assert (first[row], last[row]) == best


def test_a_row_without_a_place_scores_as_none():
    nowhere = np.full((2, T), -np.inf, np.float32)
    assert best_spans(nowhere, nowhere, 3)[2].tolist() == [-np.inf, -np.inf]


def test_where_no_stop_follows_a_start_there_is_no_span():
    start, stop = np.full((2, 1, T), -np.inf, np.float32)
    start[0, 5], stop[0, 4] = 1.0, 1.0
    assert best_spans(start, stop, T)[2].tolist() == [-np.inf]
