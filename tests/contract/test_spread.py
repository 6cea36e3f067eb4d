# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for every part and every task: a step is one device's, however its rows are spread.

The loss, the gradient of each parameter and every metric of one step of gradient descent, on rows of unequal padding,
are those of one device over microbatches, under `pmap`, and on meshes, of which each splits something and has the rest
more than once. A part that declares `mixes_rows` is held to that on meshes, and must differ otherwise.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from discovery import CHOSEN
from spread import DEVICES
from wholes import named, pairs, swaps

pytestmark = pytest.mark.long

KINDS = ('norm', 'feedforward', 'mixer', 'block', 'tokens')
NAMES = [
    *((pair.name,) for pair in ([] if CHOSEN else pairs())),
    *((swap.kind, swap.name) for swap in swaps() if swap.kind in KINDS),
]


@pytest.fixture(scope='module')
def differences(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., dict[str, Any]]]:
    """`spread.differences` in a process of eight devices."""
    flags = f'{os.environ["XLA_FLAGS"]} --xla_force_host_platform_device_count={DEVICES}'
    errors = tmp_path_factory.mktemp('spread') / 'errors'
    command = [sys.executable, str(Path(__file__).parent / 'spread.py')]
    with (
        errors.open('w') as stderr,
        subprocess.Popen(
            command,
            env={**os.environ, 'XLA_FLAGS': flags, 'PYTHONPATH': os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):

        def ask(*names: str) -> dict[str, Any]:
            process.stdin.write(f'{json.dumps(names)}\n')
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer, errors.read_text()[-3000:]
            return json.loads(answer)

        yield ask
        process.stdin.close()


@pytest.mark.parametrize('names', NAMES, ids=' '.join)
def test_a_step_is_that_of_one_device_however_it_is_spread(differences, names):
    found = differences(*names)
    if refusal := found.get('refused'):
        kind, name = names
        (swap,) = (swap for swap in swaps() if (swap.kind, swap.name) == (kind, name))
        assert any(use in refusal for use in named(swap.spec)), refusal
        pytest.skip(f'refused: {refusal}')
    for how, spread in found.items():
        if spread['said']:
            assert spread['found'], f'{how}: declares that it mixes rows, and does not: {spread["said"]}'
        else:
            assert not spread['found'], f'{how}: {"; ".join(spread["found"])}'
