# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Shares of labels and of whole sequences that are right."""

import pytest

from saccade.metric.sequence import matched
from saccade.types import UserError


def test_labels_and_whole_sequences_are_counted():
    found = matched([['1', '2', '3'], ['4'], []], [['1', '2', '2'], ['4'], []])
    assert found['token_accuracy'].value == pytest.approx(3 / 4)
    assert found['exact_match'].value == pytest.approx(2 / 3)
    assert all(each.low <= each.value <= each.high for each in found.values())


def test_sequences_of_other_lengths_are_not_compared():
    with pytest.raises(ValueError, match='zip'):
        matched([['1', '2']], [['1']])


def test_there_must_be_sequences():
    with pytest.raises(UserError, match='no examples'):
        matched([], [])
