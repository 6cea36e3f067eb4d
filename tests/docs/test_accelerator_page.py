# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The page of results on an accelerator has the figures of its record."""

import json
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / 'docs/results'
ROWS = json.loads((RESULTS / 'accelerator.json').read_text())['rows']
PAGE = (RESULTS / 'accelerator.md').read_text()


@pytest.mark.parametrize('name', [name for name, row in ROWS.items() if 'tokens_per_second' in row])
def test_speeds_are_those_of_the_record(name):
    row = ROWS[name]
    assert f'{row["tokens_per_second"]:,.0f}' in PAGE
    assert 'matrix_utilisation' not in row or f'{row["matrix_utilisation"]:.1%}' in PAGE


def test_ratios_are_those_of_the_record():
    speed = {name: row.get('tokens_per_second') for name, row in ROWS.items()}
    ours = speed['train, without biases, as the peer'] / speed['train, PyTorch']
    decoding = [speed[f'decode, {rows} rows'] / speed[f'decode, transformers, {rows} rows'] for rows in (1, 16)]
    assert f'{ours:.2f} of the speed of PyTorch' in PAGE
    assert f'{decoding[0]:.1f} and {decoding[1]:.1f} times as fast' in PAGE
