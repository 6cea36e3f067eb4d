# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The memory of a process while it runs: its peak, from a beginning on."""

from pathlib import Path

import numpy as np
import pytest

from saccade.analysis.preflight import measured
from saccade.train.backend import OnMesh
from saccade.types import UserError

pytestmark = pytest.mark.skipif(not Path('/proc/self/clear_refs').exists(), reason='only Linux says how much is used')
MIB = 2**20
CLOSE = 5 * MIB  # Linux counts each core's pages by the batch, and the test has some of its own


class Step(OnMesh):
    """A step that is not spread over anything."""

    def __init__(self):
        self.batches = [None]


@pytest.mark.long
def test_the_peak_is_the_most_that_was_there_at_a_time_since_it_began():
    meter = measured._Process()
    np.ones(200 * MIB, np.uint8)  # gone at once
    assert meter.peak() == pytest.approx(200 * MIB, abs=CLOSE)
    kept = np.ones(50 * MIB, np.uint8)
    meter.begin()
    np.ones(100 * MIB, np.uint8)
    assert meter.peak() == pytest.approx(150 * MIB, abs=CLOSE)
    assert kept.all()


def test_where_nothing_says_how_much_is_used_it_is_said_what_does(monkeypatch, tmp_path):
    monkeypatch.setattr(measured, '_FORGET', tmp_path / 'clear_refs')
    with pytest.raises(UserError, match='run it on Linux, or on a GPU'):
        measured.MeasuredStep.of(Step())
