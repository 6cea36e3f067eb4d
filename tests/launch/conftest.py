# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Launchers run as a user runs them: in processes of their own, on a small text."""

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forked
import pytest

ROOT = Path(__file__).parents[2]
WORDS = [
    'the',
    'model',
    'reads',
    'a',
    'token',
    'and',
    'writes',
    'another',
    'token',
    'after',
    'every',
    'word',
    'of',
    'this',
    'small',
    'text',
    'about',
    'attention',
]

# A run of seconds: two narrow layers over a small text.
SMALL = (
    '--config.model.width=32',
    '--config.model.block.mixer.heads=2',
    '--config.model.layers=2',
    '--config.model.vocabulary=300',
    '--config.data.context_length=16',
    '--config.batch_size=8',
    '--config.steps=20',
    '--config.log_every=1',
    '--config.eval_every=10',
    '--config.eval_batches=2',
    '--config.checkpoint_every=3',
    '--config.schedule.warmup=2',
    '--config.sample.tokens=4',
)

# An encoder of masked tokens alone, which needs no second document; one token a word.
SPECIALS = ('[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]')
WORD = {'use': 'data.tokenizer.word:Word', 'vocabulary': 40, 'end': None, 'specials': SPECIALS}
ENCODER = (
    f'--config.data.tokenizer={WORD}',
    "--config.data.pairing={'use': 'data.encoder.pairing:OnePassage'}",
    '--config.data.context_length=16',
    # Positions that are weights, and that make a word differ from place to place before anything is learned.
    "--config.model.position={'use': 'position.learned:Learned', 'length': 16}",
    '--config.model.vocabulary=40',
    '--config.model.width=16',
    '--config.model.layers=2',
    '--config.model.block.mixer.heads=2',
    '--config.batch_size=8',
    '--config.steps=2',
    '--config.eval_every=0',
    '--config.checkpoint_every=0',
    '--config.schedule.warmup=1',
)


@dataclass(frozen=True)
class Runner:
    """Attributes: folder to run in; text, a small file to train on; environment with a cache of the tests' own."""

    folder: Path
    text: Path
    environment: dict[str, str]

    def start(self, script: str, *arguments: Any, devices: int = 1) -> subprocess.Popen:
        """Start a launcher with so many simulated devices."""
        return subprocess.Popen(
            [sys.executable, *self._command(script, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self._with(devices),
        )

    def run(self, script: str, *arguments: Any, devices: int = 1) -> subprocess.CompletedProcess:
        """Run a launcher to its end."""
        command = self._command(script, arguments)
        with tempfile.TemporaryDirectory() as folder:
            output = [Path(folder) / name for name in ('out', 'err')]
            status = forked.run(command, self.folder, self._with(devices), output)
            return subprocess.CompletedProcess(command, status, *(path.read_text() for path in output))

    def _command(self, script: str, arguments: Sequence[Any]) -> list[str]:
        return [str(ROOT / 'launch' / f'{script}.py'), *map(str, arguments)]

    def _with(self, devices: int) -> dict[str, str]:
        flags = f'{self.environment["XLA_FLAGS"]} --xla_force_host_platform_device_count={devices}'
        return {**self.environment, 'XLA_FLAGS': flags}

    def train(self, workdir: Path, *overrides: str, devices: int = 1) -> subprocess.CompletedProcess:
        """Train the small model to its end."""
        return self.run('train', *self.small(workdir), *overrides, devices=devices)

    def small(self, workdir: Path) -> list[str]:
        config = ROOT / 'experiments/causal_lm/quickstart.py'
        return [f'--config={config}', f'--workdir={workdir}', f'--config.data.path={self.text}', *SMALL]


@pytest.fixture(scope='session')
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    generator = random.Random(0)
    words = [WORDS[(3 * place + generator.randrange(3)) % len(WORDS)] for place in range(4000)]
    folder = tmp_path_factory.mktemp('folder')
    text = folder / 'small[red].txt'  # which is shown as it stands, and not in red
    text.write_text(' '.join(words))
    return Runner(folder, text, {**os.environ, 'SACCADE_CACHE': str(tmp_path_factory.mktemp('cache'))})


@pytest.fixture(scope='session')
def finished(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one finished small run."""
    workdir = tmp_path_factory.mktemp('runs') / 'finished'
    done = runner.train(workdir)
    assert done.returncode == 0, done.stderr
    (workdir / 'printed.log').write_text(done.stdout)
    return workdir


@pytest.fixture(scope='session')
def encoder(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one finished run of a small encoder."""
    workdir = tmp_path_factory.mktemp('runs') / 'encoder'
    config = ROOT / 'experiments/masked_lm/quickstart.py'
    arguments = (f'--config={config}', f'--workdir={workdir}', f'--config.data.path={runner.text}', *ENCODER)
    done = runner.run('train', *arguments, '--json')
    assert done.returncode == 0, done.stderr
    return workdir
