# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed again and again at random moments, and resumed: the log is that of a run that nobody killed."""

import json
import os
import random
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
ON_TEXT = ('--config.data.context=16', '--config.model.vocabulary=300', '--config.model.width=16')
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
        "--config.data.pairing={'use': 'data.pairing:OnePassage'}",
    ),
    'encoder-decoder, buckets': (
        'translation/dates.py',
        '--config.data.train=200',
        '--config.data.validation=16',
        '--config.data.buckets=(24, 32)',
        '--config.model.dropout=0.2',
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


def log_of(run: Path, name: str = 'metrics.jsonl') -> list[dict[str, Any]]:
    """Every line, in order, without what time it took."""
    lines = (run / name).read_text().splitlines()
    return [{key: value for key, value in json.loads(line).items() if key not in TIMINGS} for line in lines]


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


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_runs_end_with_the_log_of_a_run_that_was_not_killed(tmp_path_factory, capsys):
    table = {}
    for kind in KINDS:
        folder, chance, counts = tmp_path_factory.mktemp('kind'), random.Random(kind), Counter()
        launches, whole = Launches(folder, kind), folder / 'whole'
        launches.finish(whole)
        wanted, samples = log_of(whole), log_of(whole, 'samples.jsonl') if (whole / 'samples.jsonl').exists() else []
        for trial in range(TRIALS):
            run = folder / f'run{trial}'
            # 0 is a kill before the first step, and a step that was logged before one while the run starts again.
            for step in sorted(chance.randrange(STEPS - 1) for _ in range(KILLS)):
                process = launches.start(run)
                kill_after(process, run, step, chance.uniform(0, LONGEST))
                counts['kills'] += process.exitcode == -9
                counts['during a save'] += bool(list(run.glob(LEFTOVERS)))
            launches.finish(run)
            found = log_of(run)
            train = [line for line in found if line['split'] == 'train']
            same = [line for line in train if line in wanted]
            counts['trials'] += 1
            counts['losses'] += len(train)
            counts['identical'] += len(same)
            counts['logs as wanted'] += found == wanted and samples == (log_of(run, 'samples.jsonl') if samples else [])
        table[kind] = counts
    columns = ('trials', 'kills', 'during a save', 'losses', 'identical', 'logs as wanted')
    with capsys.disabled():
        print(f'\n{"":26}' + ''.join(f'{column:>16}' for column in columns))
        for kind, counts in table.items():
            print(f'{kind:26}' + ''.join(f'{counts[column]:>16}' for column in columns))
    total = sum(table.values(), Counter())
    assert total['kills'] >= 40
    assert total['identical'] == total['losses'] == len(KINDS) * TRIALS * STEPS
    assert total['logs as wanted'] == total['trials']
