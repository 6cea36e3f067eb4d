# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs that are watched while they train, and the losses that they logged."""

import subprocess
import time
from pathlib import Path

import pytest

from saccade.train.log.log import read

STEPS = 20  # of the small run
# Losses that must be the same numbers but for the order of sums: relative difference.
SAME_NUMBERS = 1e-5


def losses(workdir: Path) -> dict[tuple[int, str], float]:
    records = read(workdir / 'metrics.jsonl')
    return {(line['step'], line['split']): line['loss'] for line in records if line['split'] != 'plan'}


def kill_after(
    runner, workdir: Path, step: int, number: int, *overrides: str, devices: int = 1
) -> subprocess.CompletedProcess:
    """Send a signal to a run as soon as it has logged a step."""
    process = runner.start('train', *runner.small(workdir), *overrides, devices=devices)
    try:
        wait_for_step(process, workdir / 'metrics.jsonl', step)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def wait_for_step(process: subprocess.Popen, metrics: Path, step: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if metrics.exists() and f'"step": {step}, ' in metrics.read_text():
            return
        time.sleep(0.002)
    raise AssertionError(process.communicate())


def assert_same(found: dict, wanted: dict) -> None:
    assert found.keys() <= wanted.keys()
    assert len(found) >= STEPS - 1
    for key, loss in found.items():
        assert loss == pytest.approx(wanted[key], rel=SAME_NUMBERS), key
