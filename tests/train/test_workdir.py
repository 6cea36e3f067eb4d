# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run's folder: made, found again, refused."""

import errno
import json
import os
import shutil
from types import SimpleNamespace

import pytest
from ml_collections import ConfigDict, FieldReference

from saccade.train.config import load_config
from saccade.train.workdir import Workdir, absolute, open_own, write_atomically, writing
from saccade.types import UserError


def make_config(**changes):
    config = {
        'seed': 0,
        'steps': 100,
        'log_every': 10,
        'mesh': {'data': -1},
        'task': {'use': 'task.causal_lm:CausalLM'},
        'model': {'use': 'model.gpt:GPT', 'width': 128, 'dropout': 0.1, 'layers': [1, 2], 'skip_every': 2},
        'data': {'use': 'data.text.stream:Text', 'workers': 0},
    }
    for field, value in changes.items():
        *parents, name = field.split('__')
        target = config
        for parent in parents:
            target = target[parent]
        target[name] = value
    return config


def test_a_new_run_has_its_config_and_its_paths(tmp_path):
    workdir = Workdir.open(tmp_path / 'deep' / 'run', make_config())
    assert json.loads(workdir.config.read_text()) == {'format': 1, **make_config()}
    assert workdir.read_config() == make_config()
    assert workdir.config.read_text().splitlines()[1] == '  "data": {'
    assert workdir.metrics == tmp_path / 'deep' / 'run' / 'metrics.jsonl'
    names = [workdir.checkpoints.name, workdir.events.name, workdir.samples.name]
    assert names == ['checkpoints', 'events', 'samples.jsonl']
    assert Workdir.existing(tmp_path / 'deep' / 'run') == workdir


def test_a_run_of_the_development_is_read(tmp_path):
    workdir = Workdir.open(tmp_path, make_config())
    workdir.config.write_text(json.dumps(make_config()))
    assert Workdir.existing(tmp_path).read_config() == make_config()


@pytest.mark.parametrize(
    ('number', 'words'),
    [(2, 'written by a newer version of Saccade: it has format 2'), ('1', 'format must be a whole number from 1 to 1')],
)
def test_a_run_of_a_newer_version_is_refused(tmp_path, number, words):
    workdir = Workdir.open(tmp_path, make_config())
    workdir.config.write_text(json.dumps({**make_config(), 'format': number}))
    for use in (
        lambda: Workdir.existing(tmp_path),
        lambda: Workdir.open(tmp_path, make_config()),
        lambda: load_config(str(workdir.config)),
    ):
        with pytest.raises(UserError, match=rf'config\.json: {words}'):
            use()


def test_the_same_config_finds_its_run_again(tmp_path):
    width = FieldReference(128)
    config = ConfigDict(make_config(model__layers=(1, 2)))
    config.model.width = width
    Workdir.open(tmp_path, config)
    before = (tmp_path / 'config.json').stat().st_mtime_ns
    assert Workdir.open(tmp_path, make_config()).path == tmp_path
    assert (tmp_path / 'config.json').stat().st_mtime_ns == before


def test_another_config_is_refused_field_by_field(tmp_path):
    Workdir.open(tmp_path, make_config())
    other = make_config(model__width=256, seed=1, steps=7, model__bias=True, model__skip_every=3)
    del other['model']['dropout']
    with pytest.raises(UserError) as refusal:
        Workdir.open(tmp_path, other)
    assert str(refusal.value) == (
        f'{tmp_path}: holds a run of another config: model.bias: absent in the folder, True requested; '
        'model.dropout: 0.1 in the folder, absent requested; model.skip_every: 2 in the folder, 3 requested; '
        'model.width: 128 in the folder, 256 requested; seed: 0 in the folder, 1 requested: name another folder'
    )
    assert Workdir(tmp_path).read_config() == make_config()


def test_many_differences_are_cut(tmp_path):
    Workdir.open(tmp_path, make_config())
    with pytest.raises(UserError, match='; and 11 more: name another folder'):
        Workdir.open(tmp_path, make_config(data={f'field{number:02}': 1 for number in range(18)}))


@pytest.mark.parametrize(
    ('field', 'value'),
    [
        ('steps', 200),
        ('log_every', 1),
        ('mesh__data', 2),
        ('mesh__tensor', 4),
        ('data__workers', 3),
        ('backend', 'pmap'),
    ],
)
def test_a_free_field_may_change_and_is_stored(tmp_path, field, value):
    Workdir.open(tmp_path, make_config())
    Workdir.open(tmp_path, make_config(**{field: value}))
    assert Workdir(tmp_path).read_config() == make_config(**{field: value})
    with pytest.raises(UserError, match=rf'{field.replace("__", ".")}: '):
        Workdir.open(tmp_path, make_config(), free=())


def test_a_foreign_folder_is_refused(tmp_path):
    (tmp_path / 'photo.jpg').touch()
    (tmp_path / 'model').mkdir()
    for find in (lambda: Workdir.open(tmp_path, make_config()), lambda: Workdir.existing(tmp_path)):
        with pytest.raises(UserError, match=r'not a Saccade run.*it holds model, photo\.jpg'):
            find()
    assert not (tmp_path / 'config.json').exists()


def test_a_folder_with_only_the_shells_log_is_taken(tmp_path):
    for name in ('train.log', 'slurm-1.out', '.gitkeep'):
        (tmp_path / name).touch()
    assert Workdir.open(tmp_path, make_config()).config.exists()


def test_anothers_config_is_refused(tmp_path):
    for config, words in (
        (
            '{"model_type": "gpt2"}',
            'not a Saccade run, but a Hugging Face directory.* name the run that it was exported from',
        ),
        ('{"model": 1}', r"config\.json: not the config of a Saccade run: it has no 'seed'"),
    ):
        (tmp_path / 'config.json').write_text(config)
        for find in (lambda: Workdir.open(tmp_path, make_config()), lambda: Workdir.existing(tmp_path)):
            with pytest.raises(UserError, match=words):
                find()


@pytest.mark.parametrize('text', ['{"seed": 0,', '', '\x00\x01', 'null', '[1]'])
def test_broken_json_names_the_file(tmp_path, text):
    (tmp_path / 'config.json').write_text(text)
    with pytest.raises(UserError, match=rf'{tmp_path / "config.json"}: '):
        Workdir.existing(tmp_path)


def test_a_missing_folder_and_an_empty_one(tmp_path):
    with pytest.raises(UserError, match='nowhere: there is no such folder'):
        Workdir.existing(tmp_path / 'nowhere')
    with pytest.raises(UserError, match=r'no config\.json; it is empty'):
        Workdir.existing(tmp_path)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / 'file').touch()
    with pytest.raises(UserError, match='it is a file'):
        Workdir.open(tmp_path / 'file', make_config())
    with pytest.raises(UserError, match='cannot be written to'):
        Workdir.open(tmp_path / 'file' / 'run', make_config())


@pytest.mark.parametrize('value', [object(), float('inf'), b'text'])
def test_a_config_that_cannot_be_stored_names_the_field(tmp_path, value):
    with pytest.raises(UserError, match=r'config\.model\.width: .* cannot be stored'):
        Workdir.open(tmp_path / 'run', make_config(model__width=value))
    assert not (tmp_path / 'run').exists()


def test_a_config_without_a_field_of_every_run(tmp_path):
    config = make_config()
    del config['task']
    with pytest.raises(UserError, match=r'config\.task: missing'):
        Workdir.open(tmp_path / 'run', config)


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / 'file'
    write_atomically(path, 'before')

    def full_disk(_):
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(os, 'fsync', full_disk)
    with pytest.raises(UserError, match='the disk is full'):
        write_atomically(path, 'after')
    assert [entry.name for entry in tmp_path.iterdir()] == ['file']
    assert path.read_text() == 'before'


def failing(folder, needed, error):
    with writing(folder, needed):
        raise RuntimeError('save failed') from error


def test_a_full_disk_is_seen_behind_other_errors(tmp_path, monkeypatch):
    quota = OSError(errno.EDQUOT, 'Disk quota exceeded')
    with pytest.raises(UserError, match=r'missing: the disk quota is exceeded: writing at least 1,000 bytes failed$'):
        failing(tmp_path / 'missing', 1000, quota)
    attempt = OSError(errno.ENOSPC, 'No space left on device')
    usage = SimpleNamespace(free=282_624)  # more than is needed: the failed attempt has been deleted
    monkeypatch.setattr(shutil, 'disk_usage', lambda _: usage)
    with pytest.raises(UserError) as refused:
        failing(tmp_path, 95_252, attempt)
    assert str(refused.value) == (
        f'{tmp_path}: the disk is full: writing at least 95,252 bytes failed; 282,624 bytes are free after it'
    )
    quoted = ValueError("RESOURCE_EXHAUSTED: no space left [os_error_code='28']")
    with pytest.raises(UserError, match=rf'^{tmp_path}: the disk is full: writing failed; 282,624 bytes are free'):
        failing(tmp_path, None, quoted)
    with pytest.raises(RuntimeError, match='save failed'):
        failing(tmp_path, None, ValueError('RESOURCE_EXHAUSTED: out of device memory'))


def test_what_training_has_written_is_set_aside(tmp_path):
    run = Workdir.open(tmp_path / 'run', make_config())
    assert run.set_aside() is None
    for number in ('1', '2'):
        run.metrics.write_text(number)
        (run.path / 'tokenizer.json').touch()
        run.provenance.touch()
        (run.checkpoints / '20').mkdir(parents=True)
        assert run.set_aside() == run.path / 'before_restart' / number
        assert (run.path / 'before_restart' / number / 'metrics.jsonl').read_text() == number
        assert (run.path / 'before_restart' / number / 'checkpoints/20').is_dir()
        assert sorted(path.name for path in run.path.iterdir()) == ['before_restart', 'config.json', 'tokenizer.json']


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('x' * 300, 'not a possible path: File name too long'),
        ('~nobody-of-this-name/run', 'there is no home folder ~nobody-of-this-name; '),
    ],
)
def test_a_path_that_no_folder_can_have_is_refused(name, words):
    for find in (Workdir.existing, lambda path: Workdir.check(path, make_config())):
        with pytest.raises(UserError, match=f'^{name}: {words}'):
            find(name)


@pytest.mark.skipif(not os.path.isdir('/proc'), reason='a folder in which none can be made')
def test_a_folder_that_cannot_be_made_is_refused():
    with pytest.raises(UserError, match=r'^/proc/x: cannot be written to: '):
        Workdir.open('/proc/x', make_config())


def test_what_is_no_file_or_no_folder_in_a_run_is_refused(tmp_path):
    workdir = Workdir.open(tmp_path, make_config())
    workdir.checkpoints.mkdir()
    (workdir.checkpoints / '20').write_text('x')
    with pytest.raises(UserError, match=r'checkpoints/20: it is a file, and the run needs a folder there'):
        Workdir.check(tmp_path, make_config())
    (workdir.checkpoints / '20').unlink()
    workdir.metrics.mkdir()
    with pytest.raises(UserError, match=r'metrics\.jsonl: it is a folder, and the run needs a file there'):
        Workdir.check(tmp_path, make_config())


def test_a_config_that_is_nested_too_deep_is_refused(tmp_path):
    (tmp_path / 'config.json').write_text('[' * 100_000)
    with pytest.raises(UserError, match=r'config\.json: cannot be read as JSON'):
        Workdir.existing(tmp_path)


@pytest.mark.parametrize('there', [True, False])
def test_a_log_is_not_written_through_a_link(tmp_path, there):
    target = tmp_path / 'letter.txt'
    if there:
        target.write_text('Dear')
    (tmp_path / 'samples.jsonl').symlink_to(target)
    with pytest.raises(UserError, match=r'samples\.jsonl: is a symbolic link'):
        open_own(tmp_path / 'samples.jsonl', 'ab')
    assert target.read_text() == 'Dear' if there else not target.exists()


def test_an_atomic_write_follows_no_link_and_meets_no_temporary_file_of_another(tmp_path):
    (tmp_path / 'letter.txt').write_text('Dear')
    (tmp_path / f'.config.json.{os.getpid()}.tmp').symlink_to(tmp_path / 'letter.txt')
    (tmp_path / 'config.json').symlink_to(tmp_path / 'letter.txt')
    write_atomically(tmp_path / 'config.json', '{}')
    assert (tmp_path / 'letter.txt').read_text() == 'Dear'
    assert not (tmp_path / 'config.json').is_symlink()
    assert (tmp_path / 'config.json').read_text() == '{}'


def test_a_rename_is_flushed_with_its_folder(tmp_path, monkeypatch):
    flushed = []
    fsync = os.fsync

    def spy(descriptor):
        flushed.append(os.readlink(f'/proc/self/fd/{descriptor}'))
        fsync(descriptor)

    monkeypatch.setattr(os, 'fsync', spy)
    write_atomically(tmp_path / 'config.json', '{}')
    assert flushed[-1] == str(tmp_path)
    assert (tmp_path / 'config.json').exists()


@pytest.mark.parametrize('path', ['gs://bucket/run', 's3://bucket/run', 'file:///tmp/run'])
def test_a_sweep_needs_a_local_folder(path):
    with pytest.raises(UserError, match=f'^{path}: must be a local folder'):
        absolute(path)
