# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Provenance of a run: what is recorded, what survives a kill, and that nothing missing fails a run."""

import hashlib
import io
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import flax
import jax
import jaxlib
import pytest

import saccade
from saccade.train.log import command
from saccade.train.log import provenance as module
from saccade.train.log.provenance import changed_code, processor, provenance, read, recorded
from saccade.train.workdir import Workdir
from saccade.types import UserError


def git(folder: Path, *arguments: str) -> str:
    command = ['git', '-C', str(folder), '-c', 'user.name=a', '-c', 'user.email=a@b', *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """A package in a repository of its own, in place of ours."""
    folder = tmp_path / 'a repository/src/saccade'
    folder.mkdir(parents=True)
    (folder / '__init__.py').write_text('')
    git(folder, 'init')
    git(folder, 'add', '.')
    git(folder, 'commit', '--message=first')
    monkeypatch.setattr(saccade, '__file__', str(folder / '__init__.py'))
    return folder


@pytest.mark.parametrize(
    ('cpuinfo', 'name'),
    [
        ('cpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n\nmodel\t: 9\n', 'AMD EPYC (family 25, model 1)'),
        ('cpu family : 6\nmodel : 85\n', 'x86 (family 6, model 85)'),
        ('Model : Raspberry Pi 5\n', 'Raspberry Pi 5'),
        ('', platform.machine()),
    ],
)
def test_a_processor_is_named_as_far_as_the_system_names_it(monkeypatch, cpuinfo, name):
    monkeypatch.setattr(module, 'open', lambda *_, **__: io.StringIO(cpuinfo), raising=False)
    monkeypatch.setattr(sys, 'platform', 'linux')
    assert processor() == name


def test_a_record_says_what_ran_where_and_when(monkeypatch):
    monkeypatch.setattr(sys, 'orig_argv', ['python', 'launch/train.py', "--config.model.norm={'use': 'a b'}"])
    found = provenance({})
    assert (found['jax'], found['jaxlib'], found['flax']) == (jax.__version__, jaxlib.__version__, flax.__version__)
    assert found['python'] == platform.python_version()
    assert (found['device'], found['devices']) == (jax.devices()[0].device_kind, jax.device_count())
    assert (found['host'], found['processor']) == (platform.node(), processor())
    assert 1 <= found['cores'] <= os.cpu_count()
    assert found['command'] == """python launch/train.py '--config.model.norm={'"'"'use'"'"': '"'"'a b'"'"'}'"""
    assert timedelta(0) <= datetime.now(UTC) - datetime.fromisoformat(found['start']) < timedelta(minutes=1)
    assert found['start'].endswith('+00:00')


def test_each_start_is_a_line_that_says_how_it_ended(tmp_path):
    file = tmp_path / 'provenance.jsonl'
    with recorded(file, {}) as record:
        record['status'] = 'stopped'
    with pytest.raises(KeyboardInterrupt), recorded(file, {}):
        raise KeyboardInterrupt
    with pytest.raises(UserError, match='step 7'), recorded(file, {}):
        raise UserError('step 7: the loss is not finite')
    with recorded(file, {}) as record:
        record['status'] = 'finished'
    starts = [json.loads(line) for line in file.read_text().splitlines()]
    assert [start['status'] for start in starts] == ['stopped', 'failed', 'failed', 'finished']
    assert [start.get('error') for start in starts[1:3]] == [
        'KeyboardInterrupt',
        'UserError: step 7: the loss is not finite',
    ]
    assert all(start['start'] <= start['end'] for start in starts)
    assert [start['status'] for start in read(file)] == ['stopped', 'failed', 'failed', 'finished']


def test_a_process_that_is_killed_leaves_its_start(tmp_path):
    file = tmp_path / 'provenance.jsonl'
    killed = recorded(file, {})
    killed.__enter__()
    (start,) = read(file)
    assert (start['status'], start.get('end')) == ('running', None)
    with recorded(file, {}) as record:
        record['status'] = 'finished'
    assert [start['status'] for start in read(file)] == ['running', 'finished']


def test_other_processes_write_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(jax, 'process_index', lambda: 1)
    with recorded(tmp_path / 'provenance.jsonl', {}) as record:
        record['status'] = 'finished'
    assert list(tmp_path.iterdir()) == []


def test_the_commit_and_whether_the_tree_is_clean(package):
    commit = git(package, 'rev-parse', 'HEAD')
    (package.parents[1] / 'notes.txt').write_text('beside the package')
    assert (provenance({})['commit'], provenance({})['clean']) == (commit, True)
    (package / 'mine.py').write_text('')  # in the package, and git does not know it
    assert (provenance({})['commit'], provenance({})['clean']) == (commit, False)
    (package / 'mine.py').unlink()
    (package / '__init__.py').write_text('changed = True')
    assert (provenance({})['commit'], provenance({})['clean']) == (commit, False)


def test_a_hook_of_another_repository_does_not_stand_for_ours(package, tmp_path, monkeypatch):
    git(tmp_path, 'init', 'other')
    monkeypatch.setenv('GIT_DIR', str(tmp_path / 'other/.git'))
    assert provenance({})['clean'] is True


def test_a_package_that_was_installed_into_somebody_elses_repository_has_no_commit(package, monkeypatch):
    installed = package.parents[1] / '.venv/saccade'
    installed.mkdir(parents=True)
    (installed / '__init__.py').write_text('')
    monkeypatch.setattr(saccade, '__file__', str(installed / '__init__.py'))
    assert (provenance({})['commit'], provenance({})['clean']) == (None, None)


@pytest.fixture
def lab(tmp_path, monkeypatch) -> Path:
    """A folder of the user's own: a module and a package, each with what it imports, and what neither imports."""
    folder = tmp_path / 'a lab'
    sources = {
        'my_gate.py': 'import json\nimport jax\nfrom my_steps import once\n\nclass Gate: pass\n',
        'my_steps.py': 'def once(): import my_late\n',
        'my_late.py': '',
        'my_other.py': '',
        'my_lab/__init__.py': '',
        'my_lab/norms/__init__.py': '',
        'my_lab/norms/mine.py': 'from . import base\nfrom ..tools import *\n\nclass Mine: pass\n',
        'my_lab/norms/base.py': '',
        'my_lab/tools.py': 'import my_lab.deeper\n',
        'my_lab/deeper.py': '',
        'my_lab/unused.py': 'not Python(',
    }
    for name, text in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(folder)
    yield folder
    for name in [name for name in sys.modules if name.startswith('my_')]:
        del sys.modules[name]


OWN = {'model': {'use': 'my_gate:Gate', 'norm': [{'use': 'my_lab.norms.mine:Mine'}, {'use': 'norm.rms:RMSNorm'}]}}
MODULES = [
    'my_gate',
    *('my_lab', 'my_lab.deeper', 'my_lab.norms', 'my_lab.norms.base', 'my_lab.norms.mine', 'my_lab.tools'),
    *('my_late', 'my_steps'),
]


def test_code_of_the_users_own_is_recorded_with_what_it_imports(lab):
    found = provenance(OWN)['modules']
    assert list(found) == MODULES
    assert found['my_lab.norms'] == {
        'file': str(lab / 'my_lab/norms/__init__.py'),
        'sha256': hashlib.sha256(b'').hexdigest(),
        'git': 'no repository',
    }
    assert found['my_late']['file'] == str(lab / 'my_late.py')


def test_the_state_of_git_is_that_of_each_file(lab):
    git(lab, 'init')
    (lab / '.gitignore').write_text('my_late.py')
    git(lab, 'add', 'my_gate.py', 'my_lab')
    git(lab, 'commit', '--message=first')
    (lab / 'my_lab/tools.py').write_text('import my_lab.deeper  # changed\n')
    commit, found = git(lab, 'rev-parse', 'HEAD'), provenance(OWN)['modules']
    dirty = [name for name in MODULES if found[name]['git'] == f'{commit}, dirty']
    assert dirty == ['my_lab.tools', 'my_late', 'my_steps']  # changed, ignored, and unknown to git
    assert {found[name]['git'] for name in MODULES if name not in dirty} == {f'{commit}, clean'}


def test_of_an_installed_library_the_named_module_alone_is_recorded(tmp_path, monkeypatch):
    library = tmp_path / 'site-packages'
    library.mkdir()
    (library / 'my_library.py').write_text('import my_part\nclass A: pass\n')
    (library / 'my_part.py').write_text('')
    monkeypatch.syspath_prepend(library)
    assert list(provenance({'model': {'use': 'my_library:A'}})['modules']) == ['my_library']


def test_what_is_ours_or_pythons_own_is_no_code_of_the_users(lab):
    used = ['model.stack:Scanned', 'axes:parameter', 'saccade.train.loop:Run', 'json:loads', 'optax:scale_by_adam']
    assert provenance({'parts': [{'use': use} for use in used]})['modules'] == {}


def test_code_that_has_changed_since_the_last_start_is_named(lab, tmp_path):
    run = Workdir(tmp_path / 'run')
    run.path.mkdir()
    assert changed_code(run, OWN) is None
    with recorded(run.provenance, OWN):
        pass
    assert changed_code(run, OWN) is None
    (lab / 'my_other.py').write_text('not imported')
    (lab / 'my_late.py').write_text('changed = True')
    (lab / 'my_lab/deeper.py').write_text('changed = True')
    assert changed_code(run, OWN) == (
        f'{run.path}: code that the run was trained with has changed: {lab}/my_lab/deeper.py, {lab}/my_late.py'
    )
    with recorded(run.provenance, OWN):
        pass
    assert changed_code(run, OWN) is None


def test_a_damaged_record_of_modules_is_left_out(tmp_path):
    (tmp_path / 'provenance.jsonl').write_text('{"modules": {"a": 3}, "jax": "1"}\n{"modules": [1]}\n')
    assert read(tmp_path / 'provenance.jsonl') == [{'jax': '1'}, {}]


def no_git(folder, monkeypatch):
    monkeypatch.setenv('PATH', str(folder))


def slow_git(folder, monkeypatch):
    monkeypatch.setattr(command, '_PATIENCE', 0.1)
    (folder / 'git').write_text('#!/bin/sh\nexec sleep 60\n')
    (folder / 'git').chmod(0o755)
    monkeypatch.setenv('PATH', f'{folder}:{os.environ["PATH"]}')


def broken_git(folder, monkeypatch):
    (folder / 'git').write_text('no program')
    (folder / 'git').chmod(0o755)
    monkeypatch.setenv('PATH', str(folder))


@pytest.mark.parametrize('without', [no_git, slow_git, broken_git])
def test_a_run_needs_no_git(package, tmp_path, monkeypatch, without):
    without(tmp_path, monkeypatch)
    with recorded(tmp_path / 'provenance.jsonl', {}) as record:
        record['status'] = 'finished'
    (start,) = read(tmp_path / 'provenance.jsonl')
    assert (start['status'], start.get('commit'), start.get('clean')) == ('finished', None, None)


def test_a_package_that_is_not_installed_has_no_version(monkeypatch):
    def absent(name):
        raise module.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module.importlib.metadata, 'version', absent)
    assert provenance({})['saccade'] is None


def test_a_damaged_file_keeps_its_lines_and_fails_no_run(tmp_path):
    file = tmp_path / 'provenance.jsonl'
    file.write_bytes(b'{"status": "stopped", "jax": [1]}\n\xff\xfe\n[1]\n{"sta')
    with recorded(file, {}) as record:
        record['status'] = 'finished'
    assert file.read_bytes().startswith(b'{"status": "stopped", "jax": [1]}\n\xff\xfe\n[1]\n{"sta\n{')
    assert [start['status'] for start in read(file)] == ['stopped', 'finished']
    assert 'jax' not in read(file)[0]


def full(*_):
    raise OSError(28, 'No space left on device')


def test_a_folder_that_cannot_be_written_to_is_said_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, 'replace', full)
    with pytest.raises(UserError, match='the disk is full'), recorded(tmp_path / 'provenance.jsonl', {}):
        pass
    assert list(tmp_path.iterdir()) == []


def diverge(monkeypatch):
    monkeypatch.setattr(Path, 'replace', full)
    raise UserError('step 7: the loss is not finite')


def test_what_ended_a_run_goes_before_a_disk_that_is_full(tmp_path, monkeypatch):
    with pytest.raises(UserError, match='step 7'), recorded(tmp_path / 'provenance.jsonl', {}):
        diverge(monkeypatch)
