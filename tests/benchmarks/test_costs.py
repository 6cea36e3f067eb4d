# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Costs of one layer by length: counted figures of the page `docs/results/costs.md`, and the fit of exponents."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import costs
from benchmarks.costs import exponent, state_bytes, temp_bytes, variants, work
from saccade.types import UserError

ROOT = Path(__file__).parents[2]
PAIRS = {  # layers whose memory grows with the square of the length, with the reason
    'plain': 'keeps all scores',
}
GROWING = {  # layers that decode with keys and values of all tokens
    'multi_head': 2 * 4,
}


def test_exponents_are_of_one_sequence_and_have_an_interval():
    lengths = (256, 1024, 4096)
    assert exponent(lengths, [3 * length for length in lengths], 1) == pytest.approx((2, 0), abs=1e-6)
    assert exponent(lengths, [5.0, 5.0, 5.0], 0) == pytest.approx((0, 0), abs=1e-6)
    slope, half = exponent(lengths, [1.0, 2.0, 8.0], 0)
    assert slope == pytest.approx(0.75)
    assert half == pytest.approx(12.706 * 0.75 / 27**0.5 / 2 * 1.5**0.5 * 2**0.5, rel=0.5)
    assert exponent(lengths, [1.0, None, 8.0], 0) is None


@pytest.mark.parametrize(
    ('lengths', 'message'),
    [
        ((256, 512), 'needs three lengths or more'),
        ((256, 512, 1000), '--length=1000: rows of a batch of 16384 tokens'),
    ],
)
def test_lengths_that_give_no_exponent_are_refused(lengths, message):
    with pytest.raises(UserError, match=message):
        costs.costs(lengths, 1, True)
