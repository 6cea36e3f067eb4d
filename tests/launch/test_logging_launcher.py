# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Further places for the log, from the command line: Weights & Biases, and a sink of the user's own."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.log.log import read
from saccade.train.workdir import Workdir
from saccade.types import UserError

MINE = """
import json

class Mine:
    def __init__(self, file):
        self.file = file

    def keep(self, *words):
        with open(self.file, 'a') as file:
            print(json.dumps(words), file=file)

    def open(self, folder, config, start):
        self.keep('open', str(folder), config, start)

    def write(self, step, split, metrics):
        self.keep('write', {'step': step, 'split': split, **metrics})

    def sample(self, step, text):
        self.keep('sample', {'step': step, 'text': text})

    def close(self):
        self.keep('close')
"""


def logging(*parts: dict[str, Any]) -> str:
    return f'--config.logging={list(parts)}'


@pytest.mark.long
def test_wandb_and_a_sink_of_the_users_get_what_the_folder_gets(runner, tmp_path):
    pytest.importorskip('wandb')
    own = {f'WANDB_{name}_DIR': str(tmp_path / name) for name in ('CACHE', 'CONFIG', 'DATA')}
    runner = replace(runner, folder=tmp_path, environment={**runner.environment, **own})
    (tmp_path / 'my_sink.py').write_text(MINE)
    heard, run = tmp_path / 'heard.jsonl', tmp_path / 'run'
    mine = {'use': 'my_sink:Mine', 'file': str(heard)}
    parts = logging(mine, {'use': 'train.log.wandb:WandB', 'project': 'heads', 'mode': 'offline'})
    done = runner.train(run, parts, '--config.steps=2', '--config.schedule.warmup=1')
    assert done.returncode == 0, done.stderr
    assert 'wandb: ' not in done.stdout

    calls = [json.loads(line) for line in heard.read_text().splitlines()]
    assert calls[0] == ['open', str(run), Workdir.existing(run).read_config(), 0]
    assert calls[-1] == ['close']
    assert [call[1] for call in calls if call[0] == 'write'] == read(run / 'metrics.jsonl')
    assert [call[1] for call in calls if call[0] == 'sample'] == read(run / 'samples.jsonl')
    assert len(calls) == 2 + len(read(run / 'metrics.jsonl')) + len(read(run / 'samples.jsonl'))
    (log,) = run.glob('wandb/offline-run-*/run-*.wandb')
    assert log.name == f'run-{(run / "wandb_id").read_text()}.wandb'
    assert b'validation/loss' in log.read_bytes()


@pytest.mark.long
@pytest.mark.parametrize(
    ('override', 'words'),
    [
        (logging({'use': 'train.log.wandb:WandB'}), 'config.logging[0].project: missing'),
        (logging({'use': 'train.log.wandb:WandB', 'projct': 'a'}), "did you mean 'project'?"),
        (
            logging({'use': 'train.log.wandb:WandB', 'project': 'a', 'mode': 'on'}),
            "wants 'online' or 'offline' or None",
        ),
        (logging({'use': 'norm.rms:RMSNorm'}), 'norm.rms:RMSNorm is not a Sink: it has no close()'),
        ('--config.logging=wandb', 'cannot be read as a list'),
    ],
)
def test_what_is_no_sink_is_refused(runner, tmp_path, override, words):
    config, _, *rest = runner.small(Path(tmp_path))
    with pytest.raises(UserError) as refusal:
        Experiment.of(load_config(config.removeprefix('--config='), [*rest, override]))
    assert words in str(refusal.value)
    assert '\n' not in str(refusal.value)
