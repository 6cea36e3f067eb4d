# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Archives of finished runs: what is put back, and what is refused."""

import json
import tarfile
from dataclasses import replace

import pytest
from pretended import sweep_of

from saccade.sweep.archive import archive, restore
from saccade.sweep.folder import SweepFolder
from saccade.sweep.record import read_sweep
from saccade.types import UserError


@pytest.fixture
def study(tmp_path):
    """A folder with a sweep of two runs, one of them finished, with a checkpoint."""
    folder = SweepFolder(tmp_path / 'here/recall')
    asked = sweep_of('a', 'b')
    folder.path.mkdir(parents=True)
    folder.write(asked.changed('a', status='finished', exit=0).changed('b', status='running'))
    for run in asked.runs:
        (folder.run(run) / 'checkpoints').mkdir(parents=True)
        (folder.run(run) / 'checkpoints/weights').write_text('large')
        (folder.run(run) / 'config.json').write_text('{}')
        (folder.run(run) / 'metrics.jsonl').write_text('{"step": 1}\n')
    return tmp_path / 'here'


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob('*') if path.is_file()}


def test_finished_runs_are_put_back_without_checkpoints(study, tmp_path):
    assert archive(study, tmp_path / 'runs.tar.xz') == 1
    restore(tmp_path / 'runs.tar.xz', tmp_path / 'there')
    kept = {'recall/sweep.json', 'recall/a/config.json', 'recall/a/metrics.jsonl'}
    assert files(tmp_path / 'there') == {name: data for name, data in files(study).items() if name in kept}
    assert read_sweep(tmp_path / 'there/recall') == read_sweep(study / 'recall')


def test_equal_runs_give_equal_bytes(study, tmp_path):
    archive(study, tmp_path / 'first.tar.xz')
    restore(tmp_path / 'first.tar.xz', tmp_path / 'there')
    archive(tmp_path / 'there', tmp_path / 'second.tar.xz')
    assert (tmp_path / 'first.tar.xz').read_bytes() == (tmp_path / 'second.tar.xz').read_bytes()


def test_paths_below_the_current_folder_are_relative(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (study / 'recall/a/config.json').write_text(f'{{"path": "{tmp_path}/data.txt"}}')
    archive(study, tmp_path / 'runs.tar.xz')
    restore(tmp_path / 'runs.tar.xz', tmp_path / 'there')
    assert (tmp_path / 'there/recall/a/config.json').read_text() == '{"path": "data.txt"}'


@pytest.mark.parametrize(
    ('program', 'portable'),
    [
        ('/opt/envs/a/bin/python3.13 -P /home/me/saccade/launch/train.py', 'python -P launch/train.py'),
        ('/home/me/.venv/bin/saccade train', 'saccade train'),
    ],
)
def test_commands_have_no_paths_of_the_machine(study, tmp_path, program, portable):
    given = [{'commit': 'abc', 'command': f"{program} --config=a.py --workdir=/home/me/runs/a '--config.b=[1, 2]'"}, {}]
    lines = '\n'.join(map(json.dumps, given))
    (study / 'recall/a/provenance.jsonl').write_text(lines + '\n')
    archive(study, tmp_path / 'runs.tar.xz')
    restore(tmp_path / 'runs.tar.xz', tmp_path / 'there')
    first, second = map(json.loads, (tmp_path / 'there/recall/a/provenance.jsonl').read_text().splitlines())
    command = f"{portable} --config=a.py --workdir=runs/recall/a '--config.b=[1, 2]'"
    assert (first, second) == ({'commit': 'abc', 'command': command}, {})
    archive(tmp_path / 'there', tmp_path / 'again.tar.xz')
    assert (tmp_path / 'runs.tar.xz').read_bytes() == (tmp_path / 'again.tar.xz').read_bytes()


def test_an_archive_never_loses_a_run(study, tmp_path):
    file = tmp_path / 'runs.tar.xz'
    archive(study, file)
    before, folder = file.read_bytes(), SweepFolder(study / 'recall')
    asked = read_sweep(folder.path).changed('b', status='finished', exit=0)
    folder.write(replace(asked, runs=asked.runs[1:]))  # the sweep has fewer seeds now
    with pytest.raises(UserError, match=r'runs\.tar\.xz: holds finished runs that .*here lacks, recall/a first of 1'):
        archive(study, file)
    assert file.read_bytes() == before
    assert archive(study, tmp_path / 'other.tar.xz') == 1


def test_what_is_there_stays(study, tmp_path):
    archive(study, tmp_path / 'runs.tar.xz')
    (study / 'recall/a/metrics.jsonl').write_text('{"step": 2}\n')
    (study / 'recall/a/config.json').unlink()
    before = files(study)
    restore(tmp_path / 'runs.tar.xz', study)
    assert files(study) == before


@pytest.mark.parametrize('name', ['../sweep.json', '/sweep.json', 'recall/a/run.sh'])
def test_foreign_files_are_refused_and_nothing_is_written(tmp_path, name):
    with tarfile.open(tmp_path / 'runs.tar.xz', 'w:xz') as tar:
        tar.addfile(tarfile.TarInfo('recall/sweep.json'))
        tar.addfile(tarfile.TarInfo(name))
    with pytest.raises(UserError, match='not an archive of runs: it holds'):
        restore(tmp_path / 'runs.tar.xz', tmp_path / 'there')
    assert not (tmp_path / 'there').exists()


def test_a_run_that_the_record_calls_waiting_is_kept_if_it_has_ended(study, tmp_path):
    folder = SweepFolder(study / 'recall')
    (steps,) = {run.steps for run in read_sweep(folder.path).runs}
    (folder.path / 'b/metrics.jsonl').write_text(f'{{"step": {steps}, "split": "validation", "loss": 1}}\n')
    assert archive(study, tmp_path / 'runs.tar.xz') == 2
    restore(tmp_path / 'runs.tar.xz', tmp_path / 'there')
    assert [run.status for run in read_sweep(tmp_path / 'there/recall').runs] == ['finished', 'finished']


def test_an_archive_with_any_bit_changed_is_refused(study, tmp_path):
    archive(study, file := tmp_path / 'runs.tar.xz')
    whole = file.read_bytes()
    for place in range(0, len(whole) - 12, 7):  # but for the footer, which repeats
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        with pytest.raises(UserError, match=r'runs\.tar\.xz: not an archive of runs'):
            restore(file, tmp_path / 'there')
    assert not (tmp_path / 'there').exists()


@pytest.mark.parametrize('content', [b'', b'text', b'\xfd7zXZ\x00\x00'])
def test_a_damaged_archive_is_refused(tmp_path, content):
    (tmp_path / 'runs.tar.xz').write_bytes(content)
    with pytest.raises(UserError, match=r'runs\.tar\.xz: not an archive of runs'):
        restore(tmp_path / 'runs.tar.xz', tmp_path / 'there')
