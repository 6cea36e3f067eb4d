# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The provenance of a run from the command line: killed, stopped, resumed to its end."""

import signal

import pytest
from watched import kill_after

from saccade.train.log.provenance import read

pytestmark = pytest.mark.long


def test_each_start_of_a_run_is_recorded_whatever_ended_it(runner, tmp_path):
    run = tmp_path / 'run'
    kill_after(runner, run, 4, signal.SIGKILL)
    assert [start['status'] for start in read(run / 'provenance.jsonl')] == ['running']
    kill_after(runner, run, 8, signal.SIGTERM)
    assert runner.train(run).returncode == 0
    starts = read(run / 'provenance.jsonl')
    assert [start['status'] for start in starts] == ['running', 'stopped', 'finished']
    assert all('launch/train.py' in start['command'] and f'--workdir={run}' in start['command'] for start in starts[:2])
    assert [start['start'] for start in starts] == sorted(start['start'] for start in starts)
