# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What one run compiled the next one loads; what it cannot use it compiles again, and says nothing."""

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest

SHORT = ('--config.steps=3', '--config.eval_every=0', '--config.checkpoint_every=0')


@pytest.fixture
def kept(runner, tmp_path: Path):
    """A runner whose launchers have the cache that they have by default."""
    environment = {name: value for name, value in runner.environment.items() if name != 'JAX_COMPILATION_CACHE_DIR'}
    return dataclasses.replace(runner, environment={**environment, 'SACCADE_CACHE': str(tmp_path / 'cache')})


def entries(runner: Any) -> dict[Path, int]:
    """Programs, by the number of a file that is another when it is written anew."""
    folder = Path(runner.environment['SACCADE_CACHE']) / 'compiled'
    return {path: path.stat().st_ino for path in folder.rglob('*') if path.is_file()}


def losses(runner: Any, workdir: Path, *overrides: str) -> list[float]:
    """Losses of a run that says nothing on standard error."""
    done = runner.train(workdir, *SHORT, *overrides)
    assert (done.returncode, done.stderr) == (0, '')
    lines = [json.loads(line) for line in (workdir / 'metrics.jsonl').read_text().splitlines()]
    return [line['loss'] for line in lines if 'loss' in line]


@pytest.mark.long
def test_a_second_run_compiles_nothing(kept, tmp_path):
    first = losses(kept, tmp_path / 'first')
    compiled = entries(kept)
    assert any(path.name.startswith('jit_train_step') for path in compiled)
    assert losses(kept, tmp_path / 'second') == first
    assert entries(kept) == compiled
    assert losses(kept, tmp_path / 'third', '--config.seed=1') != first
    assert entries(kept) == compiled


@pytest.mark.long
def test_damaged_programs_are_compiled_again(kept, tmp_path):
    draw = random.Random(0)
    first = losses(kept, tmp_path / 'whole')
    compiled = entries(kept)
    damages = {
        'cut': lambda entry: entry[: draw.randrange(len(entry))],
        'flipped': lambda entry: flipped(entry, draw.randrange(8 * len(entry))),
        'empty': lambda entry: b'',
    }
    for name, damage in damages.items():
        before = {path: path.read_bytes() for path in compiled}
        for path, entry in before.items():
            path.write_bytes(damage(entry))
        assert losses(kept, tmp_path / name) == first
        now = entries(kept)
        assert now.keys() == compiled.keys()
        assert all(path.stat().st_size > 0 for path in now)
        assert losses(kept, tmp_path / f'{name}-again') == first
        assert entries(kept) == now


def flipped(entry: bytes, bit: int) -> bytes:
    changed = bytearray(entry)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)
