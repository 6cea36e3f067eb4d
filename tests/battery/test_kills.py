# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed again and again at random moments, and resumed: the log is that of a run that nobody killed."""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / 'tests/launch'))
import forked  # noqa: E402

TRIALS, KILLS = 3, 5  # of each kind of run, and of each trial
STEPS = 36
LONGEST = 0.15  # seconds between a step that is logged and a kill
WORDS = ('the', 'model', 'reads', 'a', 'token', 'and', 'writes', 'another', 'after', 'every', 'word')
TIMINGS = ('tokens_per_second', 'mfu')
LEFTOVERS = 'checkpoints/[0-9]*.*'  # what a kill leaves of a save
ALL = (
    f'--config.steps={STEPS}',
    '--config.log_every=1',
    '--config.eval_every=12',
    '--config.eval_batches=1',
    '--config.checkpoint_every=4',
    '--config.batch_size=8',
    '--config.schedule.warmup=2',
)
ON_TEXT = ('--config.data.context_length=16', '--config.model.vocabulary=300', '--config.model.width=16')
KINDS = {
    'causal LM (dropout, EMA)': (
        'causal_lm/quickstart.py',
        *ON_TEXT,
        '--config.model.layers=2',
        '--config.model.block.mixer.heads=2',
        '--config.model.dropout=0.2',
        '--config.ema=0.9',
        '--config.sample.tokens=4',
    ),
    'masked LM': (
        'masked_lm/quickstart.py',
        *ON_TEXT,
        "--config.data.pairing={'use': 'data.encoder.pairing:OnePassage'}",
    ),
    'encoder-decoder, buckets': (
        'translation/dates.py',
        '--config.data.train=200',
        '--config.data.validation=16',
        '--config.data.buckets=(24, 32)',
        '--config.model.encoder.width=16',
        '--config.model.decoder.width=16',
    ),
}


class Launches:
    """Starts the launcher on one kind of run, in forks of a process that has done the imports."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder = folder
        text = folder / 'small.txt'
        words = random.Random(0).choices(WORDS, k=4000)
        text.write_text(' '.join(words))
        name, *overrides = KINDS[kind]
        on_text = [] if name.startswith('translation') else [f'--config.data.path={text}']
        self._flags = [f'--config={ROOT / "experiments" / name}', *on_text, *overrides, *ALL]
        self._environment = {**os.environ, 'SACCADE_CACHE': str(folder / 'cache')}

    def start(self, run: Path) -> Any:
        command = [str(ROOT / 'launch/train.py'), *self._flags, f'--workdir={run}']
        return forked.start(command, self._folder, self._environment, [self._folder / 'out', self._folder / 'err'])

    def finish(self, run: Path) -> None:
        process = self.start(run)
        process.join(timeout=240)
        assert process.exitcode == 0, (self._folder / 'err').read_text()


def logs_of(run: Path) -> list[list[dict[str, Any]]]:
    """Every line of the metrics and of the samples, in order, without what time it took."""
    files = [run / name for name in ('metrics.jsonl', 'samples.jsonl')]
    return [[without_timings(json.loads(line)) for line in file.read_text().splitlines()] for file in files]


def without_timings(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in TIMINGS}


def steps_logged(run: Path) -> int:
    file = run / 'metrics.jsonl'
    return file.read_bytes().count(b'"split": "train"') if file.exists() else 0


def kill_after(process: Any, run: Path, step: int, delay: float) -> None:
    """Kill a run so many seconds after it has logged a step, or at once if it had logged that before."""
    deadline = time.monotonic() + 120
    while steps_logged(run) < step and process.is_alive() and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(delay)
    process.kill()
    process.join()


@pytest.mark.long
@pytest.mark.parametrize('kind', KINDS)
def test_killed_runs_end_with_the_log_of_a_run_that_was_not_killed(tmp_path, capsys, kind):
    chance, counts = random.Random(kind), Counter()
    launches, whole = Launches(tmp_path, kind), tmp_path / 'whole'
    launches.finish(whole)
    wanted = logs_of(whole)
    for trial in range(TRIALS):
        run = tmp_path / f'run{trial}'
        # 0 is a kill before the first step, and a step that was logged before one while the run starts again.
        for step in sorted(chance.randrange(STEPS - 1) for _ in range(KILLS)):
            process = launches.start(run)
            kill_after(process, run, step, chance.uniform(0, LONGEST))
            counts['kills'] += process.exitcode == -signal.SIGKILL
            counts['half-written saves'] += bool(list(run.glob(LEFTOVERS)))
        launches.finish(run)
        found = logs_of(run)
        counts['losses'] += STEPS
        counts['identical'] += sum(line in found[0] for line in wanted[0] if line['split'] == 'train')
        counts['logs identical'] += found == wanted  # and so no line is torn, missing or there twice
    with capsys.disabled():
        print(f'\n{kind:26}' + ''.join(f'{count:>6} {name}' for name, count in counts.items()))
    assert counts['kills'] >= TRIALS * KILLS - 1
    assert counts['identical'] == counts['losses']
    assert counts['logs identical'] == TRIALS
