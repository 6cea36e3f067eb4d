# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows that a few minutes on one accelerator measure: their order, their record, and how they are stopped."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import jax
import pytest
from rich.console import Console

from benchmarks import accelerator, bootstrap, kernels
from benchmarks.accelerator import (
    DONE,
    FAILED,
    LATE,
    LEFT_OUT,
    OURS,
    SCALES,
    Record,
    accelerate,
    recording,
    rows,
    table,
)
from benchmarks.our_rows import Rows
from benchmarks.process import LateError
from saccade.types import UserError

ROOT = Path(__file__).parents[2]
TINY = SCALES['tiny']
FOUND = {'platform': 'gpu', 'kind': 'NVIDIA H100', 'count': 1, 'words': '1 x NVIDIA H100'}


def names(platform, scale=TINY):
    return [row.name for row in rows(scale, platform, 'traces')]


def test_the_kernels_of_a_platform_and_the_automatic_choice_come_first():
    assert names('gpu')[:5] == [
        'matrix rate',
        'agree, cudnn',
        'train, automatic kernel',
        'train, without biases, as the peer',
        'train, PyTorch',
    ]
    assert names('tpu')[:3] == ['matrix rate', 'agree, splash', 'train, automatic kernel']


@pytest.mark.parametrize('platform', ['gpu', 'tpu', 'cpu'])
@pytest.mark.parametrize('size', SCALES)
def test_every_platform_has_every_kernel_once_and_peers_where_they_can_run(platform, size):
    found = names(platform, SCALES[size])
    assert len(found) == len(set(found))
    for kernel in kernels.KERNELS:
        assert {f'agree, {kernel}', f'attention, {kernel}'} <= set(found)
    assert any('PyTorch' in name for name in found) == (platform != 'tpu')


def test_peers_are_of_the_models_own_size():
    (theirs,) = [row for row in rows(SCALES['full'], 'gpu', 'traces') if row.name == 'train, PyTorch']
    assert theirs.made['size'] == asdict(SCALES['full'].model)
    assert theirs.made['device'] == 'cuda'
    (ours,) = [row for row in rows(SCALES['full'], 'gpu', 'traces') if row.name == 'train, automatic kernel']
    flags = ours.asks[0][1]['overrides']
    assert {'--config.model.width=768', '--config.batch_size=16', '--config.accumulate=1'} <= set(flags)


class Fake(accelerator.Device):
    """A worker that answers at once. Attributes: asked, of all of them; fails, what a row's method raises."""

    asked, fails, device = [], {}, FOUND

    def __init__(self, name, target, **made):
        self.name = name

    def ask_within(self, seconds, method, **arguments):
        assert 0 < seconds <= TINY.limit
        if method == 'devices':
            return self.device
        Fake.asked.append(method if 'kernel' not in arguments else f'{method}, {arguments["kernel"]}')
        if error := self.fails.get(Fake.asked[-1]):
            raise error
        return {'words': 'well'} if self.name == OURS else 0.5

    def close(self):
        pass


@pytest.fixture
def fake(monkeypatch):
    Fake.asked, Fake.fails, Fake.device = [], {}, FOUND
    monkeypatch.setattr(accelerator, 'Device', Fake)
    monkeypatch.setattr(accelerator, 'require', lambda *packages: None)  # peers are the oracle extra's, and fakes here
    return Fake


def measured(file, minutes=60.0):
    record = Record.of(file, 'tiny')
    return record, accelerate(record, TINY, minutes, 'traces', Console(file=io.StringIO()))


def test_each_row_is_measured_once_and_the_file_goes_on(fake, tmp_path):
    record, left = measured(tmp_path / 'rows.json')
    assert left == []
    assert list(record.rows) == ['devices', *names('gpu')]
    assert {row['status'] for row in record.rows.values()} == {DONE}
    assert json.loads((tmp_path / 'rows.json').read_text())['rows'] == record.rows
    batch = TINY.model.batch * TINY.model.context_length
    assert record.rows['train, PyTorch']['tokens_per_second'] == batch * TINY.rounds * TINY.steps / 0.5
    assert record.rows['decode, transformers, 1 rows']['tokens_per_second'] == TINY.new / 0.5
    fake.asked = []
    assert measured(tmp_path / 'rows.json')[1] == []
    assert fake.asked == []


def test_a_row_that_fails_takes_no_other_with_it_and_is_tried_again_at_the_end(fake, tmp_path):
    fake.fails = {'agree, cudnn': UserError('no room'), 'matrix_rate': LateError('too slow')}
    record, left = measured(tmp_path / 'rows.json')
    assert [row.name for row in left] == ['matrix rate', 'agree, cudnn']
    assert (record.rows['matrix rate']['status'], record.rows['agree, cudnn']['status']) == (LATE, FAILED)
    assert record.rows['agree, cudnn']['words'] == 'no room'
    assert [row['status'] for row in record.rows.values()].count(DONE) == len(record.rows) - 2
    fake.asked, fake.fails = [], {}
    assert measured(tmp_path / 'rows.json')[1] == []
    assert fake.asked == ['matrix_rate', 'agree, cudnn']


def test_the_row_at_which_the_time_is_over_is_as_if_never_begun(fake, tmp_path):
    fake.fails = {'matrix_rate': LateError('over')}
    record, left = measured(tmp_path / 'rows.json', minutes=1.0)  # less than a row's own limit
    assert 'matrix rate' not in record.rows
    assert left[0].name == 'matrix rate'


def test_without_time_no_row_is_begun(fake, tmp_path):
    record, left = measured(tmp_path / 'rows.json', minutes=0.0)
    assert list(record.rows) == ['devices']
    assert [row.name for row in left] == names('gpu')


def test_what_is_not_installed_is_left_out_and_named(fake, tmp_path, monkeypatch):
    def require(*packages):
        if packages:
            raise UserError(f'{packages[0]} is not installed')

    monkeypatch.setattr(accelerator, 'require', require)
    record, _ = measured(tmp_path / 'rows.json')
    row = record.rows['train, PyTorch']
    assert (row['status'], row['words']) == (LEFT_OUT, 'torch is not installed')
    shown = io.StringIO()
    table(record).show(Console(file=shown, width=200))
    assert 'torch is not installed' in shown.getvalue()


def test_a_record_is_of_one_device_and_one_size(fake, tmp_path):
    file = tmp_path / 'rows.json'
    measured(file)
    with pytest.raises(UserError, match=r'rows of --size=tiny, not full; name another file'):
        Record.of(file, 'full')
    fake.device = {**FOUND, 'kind': 'NVIDIA A100'}
    with pytest.raises(UserError, match='rows of 1 x NVIDIA H100, and here is 1 x NVIDIA A100; name another file'):
        measured(file)
    file.write_text('{"rows": 3}')
    with pytest.raises(UserError, match='no record of this command'):
        Record.of(file, 'tiny')


def test_one_command_at_a_time_has_a_record(tmp_path):
    busy = pytest.raises(UserError, match=r'process \d+ on .* is measuring for it; wait')
    with recording(tmp_path / 'rows.json', 'tiny'), busy:
        recording(tmp_path / 'rows.json', 'tiny').__enter__()
    with recording(tmp_path / 'rows.json', 'tiny') as record:
        assert record.rows == {}


@pytest.fixture
def ours(monkeypatch):
    monkeypatch.setattr('benchmarks.our_rows.use_compilation_cache', lambda: None)
    return Rows()


def test_a_kernel_whose_numbers_are_others_is_named(ours, monkeypatch):
    given = {'causal': [1e-6] * 4, 'full': [1e-6, 0.5, 1e-6, 1e-6], 'sink': 'it has no sink'}
    monkeypatch.setattr(kernels, 'differences', lambda kernel, case, dtype, tokens: given[case])
    row = ours.agree('cudnn', 32, list(given))
    assert row['apart'] == ['full, bfloat16 (5.0e-01)', 'full, float32 (5.0e-01)']
    assert row['words'].startswith('2 cases agree, 2 refused; APART: full')
    given['full'] = [float('nan')] * 4
    assert len(ours.agree('cudnn', 32, list(given))['apart']) == 2


@pytest.mark.long
@pytest.mark.parametrize('case', ['causal', 'causal, packed', 'bias'])
def test_kernels_agree_with_the_whole_matrix(case, monkeypatch):
    assert max(kernels.differences('blockwise', case, 'float32', 32)) < kernels.NEAR['float32']
    assert 0 < max(kernels.differences('plain', case, 'bfloat16', 32)) < kernels.NEAR['bfloat16']
    assert 'only NVIDIA GPUs' in kernels.differences('cudnn', case, 'bfloat16', 32)


def test_what_each_kernel_serves_is_what_is_documented():
    refused = {name: {case for case in kernels.CASES if kernels.lacks(name, case)} for name in kernels.KERNELS}
    assert refused == {
        'plain': set(),
        'blockwise': set(),
        'splash': {'bias', 'dropout', 'strided mask'},
        'cudnn': {'window both ways', 'softcap', 'bias', 'sink', 'dropout', 'strided mask'},
    }


@pytest.mark.long
def test_memory_of_kernels_is_linear_unless_all_scores_are_made():
    figures = kernels.kernels((256, 1024), jax.devices()[0], 'here').figures['temp_bytes']
    assert figures['plain'][1024] > 12 * figures['plain'][256]
    assert figures['blockwise'][1024] < 5 * figures['blockwise'][256]
    assert 'only TPUs' in figures['splash'][256]


def test_what_the_package_requires_is_read_and_looked_for():
    needed = bootstrap.requirements()
    assert 'flax>=0.12' in needed['core']
    assert 'array-record>=0.8.1' in needed['train']
    assert bootstrap.name_of('jax[cuda12]>=0.8') == 'jax'
    assert bootstrap.lacks(sys.executable, ['numpy>=2.0', 'no-such-package>=1']) == ['no-such-package>=1']


def test_the_package_is_imported_without_being_installed(monkeypatch, tmp_path):
    monkeypatch.setattr(bootstrap, 'LINKS', tmp_path / 'links')
    path = bootstrap.linked()
    program = 'import saccade.launch, saccade.experiments; print(saccade.__file__, saccade.experiments.__path__[0])'
    environment = {**os.environ, 'PYTHONPATH': str(path)}
    said = subprocess.run([sys.executable, '-c', program], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.split() == [f'{path}/saccade/__init__.py', f'{path}/saccade/experiments']


@pytest.mark.long
@pytest.mark.parametrize('stop', [signal.SIGINT, signal.SIGKILL])
def test_the_command_goes_on_where_it_was_stopped(stop, tmp_path):
    file = tmp_path / 'rows.json'
    flags = ['--size=tiny', '--minutes=25', f'--output={file}']
    command = [sys.executable, '-m', 'benchmarks.accelerate', *flags]

    def found():
        return json.loads(file.read_text())['rows'] if file.exists() else {}

    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as running:
        while len(found()) < 3:
            assert running.poll() is None
            time.sleep(0.2)
        running.send_signal(stop)
        said = running.stderr.read()
    assert running.returncode == (130 if stop == signal.SIGINT else -signal.SIGKILL)
    assert ('stopped by Ctrl-C' in said) == (stop == signal.SIGINT)
    before = found()
    subprocess.run(command, cwd=ROOT, check=True)
    after = found()
    assert {name: after[name] for name in before if name != 'devices'} == {
        name: row for name, row in before.items() if name != 'devices'
    }
    assert list(after) == ['devices', *names('cpu')]
    # PyTorch's rows are of extras that need not be there.
    assert {row['status'] for name, row in after.items() if 'PyTorch' not in name and 'transformers' not in name} == {
        DONE
    }
