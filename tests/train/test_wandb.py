# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Weights & Biases without a network: what stands in the offline run, and what is said where it cannot work."""

import ast
import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from saccade.train.log.log import Log
from saccade.train.log.wandb import WandB, logging_to
from saccade.types import UserError

wandb = pytest.importorskip('wandb')
from wandb.proto.wandb_internal_pb2 import Record  # noqa: E402

CONFIG = {'seed': 0, 'model': {'width': 32, 'pattern': [{'heads': 2}]}, 'data': {'path': None}}
BLOCK, HEADER = 2**15, 7  # bytes of a .wandb file, which is a log of LevelDB


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch) -> Iterator[None]:
    """No settings, credentials or folders but the test's own, and nothing left running."""
    for name in ('CACHE', 'CONFIG', 'DATA'):
        monkeypatch.setenv(f'WANDB_{name}_DIR', str(tmp_path / 'wandb-own' / name.lower()))
    monkeypatch.setenv('NETRC', str(tmp_path / 'absent'))
    monkeypatch.delenv('WANDB_API_KEY', raising=False)
    monkeypatch.delenv('WANDB_MODE', raising=False)
    wandb.teardown()
    yield
    wandb.teardown()


def log_run(folder: Path, *steps: int, start: int = 0, **fields: Any) -> None:
    with Log(folder, 10, start=start, config=CONFIG, sinks=[WandB('heads', mode='offline', **fields)]) as log:
        for step in steps:
            log.write(step, 'train', {'loss': 1 / step})
        log.sample(steps[-1], 'a <b> & c')


def records(folder: Path) -> list[list[Any]]:
    """The records of each offline run in a run's folder."""
    wandb.teardown()  # its process writes the last of them when it ends
    return [list(parse(path.read_bytes())) for path in sorted(folder.glob('wandb/offline-run-*/run-*.wandb'))]


def parse(data: bytes) -> Iterator[Any]:
    """Each record has a checksum, its length and whether it is whole, the first, a middle or the last part of one."""
    place, parts = HEADER, b''
    while place < len(data):
        if BLOCK - place % BLOCK < HEADER:
            place += BLOCK - place % BLOCK
            continue
        _, length, kind = struct.unpack('<IHB', data[place : place + HEADER])
        place += HEADER + length
        parts += data[place - length : place]
        if kind in (1, 4):
            yield Record.FromString(parts)
            parts = b''


def history(run: list[Any]) -> list[dict[str, Any]]:
    rows = [record.history for record in run if record.HasField('history')]
    return [{'.'.join(item.nested_key): json.loads(item.value_json) for item in row.item} for row in rows]


def only(run: list[Any], kind: str) -> Any:
    (found,) = (getattr(record, kind) for record in run if record.HasField(kind))
    return found


@pytest.mark.long
def test_an_offline_run_holds_metrics_config_and_samples(tmp_path):
    log_run(tmp_path, 1, 2, group='equal width')
    [run] = records(tmp_path)
    head = only(run, 'run')
    assert (head.project, head.display_name, head.run_group) == ('heads', tmp_path.name, 'equal width')
    config = {item.key: json.loads(item.value_json) for item in head.config.update if item.key != '_wandb'}
    assert config == CONFIG
    rows = [(row['step'], row['train/loss']) for row in history(run) if 'train/loss' in row]
    assert rows == [(1, 1.0), (2, 0.5)]
    (sample,) = (row for row in history(run) if 'sample.path' in row)
    assert sample['step'] == 2
    (page,) = tmp_path.glob(f'wandb/offline-run-*/files/{sample["sample.path"]}')
    assert '<pre>a &lt;b&gt; &amp; c</pre>' in page.read_text()


@pytest.mark.long
def test_charts_have_our_step_for_an_axis(tmp_path):
    log_run(tmp_path, 1)
    [run] = records(tmp_path)
    axes = {record.metric.glob_name: record.metric.step_metric for record in run if record.HasField('metric')}
    assert axes['*'] == 'step'


@pytest.mark.long
def test_a_resumed_run_goes_on_under_the_same_id_and_keeps_repeated_steps(tmp_path):
    log_run(tmp_path, 1, 2, 3)
    log_run(tmp_path, 2, 3, 4, start=1)
    runs = records(tmp_path)
    assert {only(run, 'run').run_id for run in runs} == {(tmp_path / 'wandb_id').read_text()}
    assert [only(run, 'run').resume for run in runs] == [True, True]
    steps = [[row['step'] for row in history(run) if 'train/loss' in row] for run in runs]
    assert sorted(steps) == [[1, 2, 3], [2, 3, 4]]


@pytest.mark.long
def test_two_runs_have_two_ids(tmp_path):
    for name in ('a', 'b'):
        log_run(tmp_path / name, 1, name=f'run {name}')
    runs = [run for name in ('a', 'b') for run in records(tmp_path / name)]
    assert len({only(run, 'run').run_id for run in runs}) == 2
    assert [only(run, 'run').display_name for run in runs] == ['run a', 'run b']


@pytest.mark.long
def test_a_run_that_ends_by_an_error_has_failed(tmp_path):
    log_run(tmp_path / 'sound', 1)
    with pytest.raises(ZeroDivisionError):
        log_run(tmp_path / 'broken', 0)
    codes = {name: only(records(tmp_path / name)[0], 'exit').exit_code for name in ('sound', 'broken')}
    assert codes == {'sound': 0, 'broken': 1}


def test_the_environment_says_whether_a_run_is_offline(tmp_path, monkeypatch):
    monkeypatch.setenv('WANDB_MODE', 'offline')
    with Log(tmp_path, 10, sinks=[WandB('heads')]) as log:
        log.write(1, 'train', {'loss': 1.0})
    assert len(records(tmp_path)) == 1


@pytest.mark.parametrize('default', ['online', 'offline'])
def test_who_is_not_logged_in_is_told_before_training(monkeypatch, default):
    monkeypatch.setenv('WANDB_MODE', default)
    refused('not logged in: run `wandb login`', project='heads', mode='online')
    assert wandb.setup().settings.mode == default


@pytest.mark.long
def test_without_a_network_there_is_no_waiting(monkeypatch):
    monkeypatch.setenv('WANDB_API_KEY', '0' * 40)
    monkeypatch.setenv('WANDB_BASE_URL', 'http://127.0.0.1:9')
    monkeypatch.setenv('WANDB_HTTP_TIMEOUT', '1')
    refused('127.0.0.1:9: .* without a network, WANDB_MODE=offline', project='heads')


def test_without_wandb_there_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, 'wandb', None)
    refused(r'wandb is not installed; pip install -e \.\[wandb\]', project='heads')


@pytest.mark.parametrize('project', ['', 'heads/wide', 'p' * 200])
def test_a_project_that_cannot_be_is_refused(project):
    refused('(?i)project', project=project, mode='offline')


def refused(words: str, **fields: Any) -> None:
    with pytest.raises(UserError, match=words) as refusal:
        WandB(**fields)
    assert '\n' not in str(refusal.value)


def test_a_project_is_added_to_the_sinks_of_a_config_and_replaces_that_of_wandb():
    def logging(*sinks: Any) -> Any:
        field, _, value = logging_to('new', {'logging': [*sinks]}).partition('=')
        assert field == '--config.logging'
        return ast.literal_eval(value)

    mine, theirs = {'use': 'my_sinks:Mine'}, {'use': 'saccade.train.log.wandb:WandB', 'project': 'old', 'group': 'g'}
    added = {'use': 'train.log.wandb:WandB', 'project': 'new'}
    assert logging() == [added]
    assert logging(mine) == [mine, added]
    assert logging(theirs, mine) == [mine, theirs | {'project': 'new'}]
    assert logging_to('new', {}) == logging_to('new', {'logging': []})
