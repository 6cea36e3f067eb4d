# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A suite file: the flags of its sweeps, and what is refused."""

from pathlib import Path

import pytest

from saccade.sweep.plan import read_sweep_file
from saccade.sweep.sizes import sizes_of
from saccade.sweep.suite import Suite
from saccade.train.config import load_config
from saccade.types import UserError

ROOT = Path(__file__).parents[2]
SHIPPED = sorted(path for path in (ROOT / 'experiments/suites').glob('*.py') if path.stem != '__init__')
DOC = """What can it do?

    python launch/suite.py

All rows have 32 tokens, and chance
is that of a guess.
"""


def write(folder, spec):
    file = folder / 'my_suite.py'
    file.write_text(f'"""{DOC}"""\n\n\ndef get_suite():\n    return {spec!r}\n')
    return str(file)


def test_each_task_is_a_sweep_in_a_folder_of_its_own(tmp_path):
    fields = {'batch_size': 8, 'data.generator': {'use': 'a:B', 'keys': 2}}
    spec = {
        'recall': dict(config='a.py', sweep='s.py', fields=fields),
        'parity': dict(config='b.py', sweep='s.py', size='few'),
    }
    suite = Suite.of(write(tmp_path, spec))
    assert suite.title == 'What can it do?'
    assert suite.notes == ('All rows have 32 tokens, and chance is that of a guess.',)
    assert [task.flags(Path('/runs')) for task in suite.tasks] == [
        [
            '--config=a.py',
            '--sweep=s.py',
            '--workdir=/runs/recall',
            '--config.batch_size=8',
            "--config.data.generator={'use': 'a:B', 'keys': 2}",
        ],
        ['--config=b.py', '--sweep=s.py', '--workdir=/runs/parity'],
    ]
    assert [task.size for task in suite.tasks] == [None, 'few']


@pytest.mark.parametrize(
    ('spec', 'message'),
    [
        ([], 'get_suite() must return a dict of tasks'),
        ({}, 'get_suite() must return a dict of tasks'),
        ({'../up': dict(config='a', sweep='b')}, "'../up' cannot be the name of a folder"),
        ({'a': dict(config='a')}, 'a: write a dict of config, sweep and'),
        ({'a': dict(config='a', sweep='b', steps=3)}, 'a: write a dict of config, sweep and'),
    ],
)
def test_what_is_no_suite_is_refused_in_a_line(tmp_path, spec, message):
    with pytest.raises(UserError) as refused:
        Suite.of(write(tmp_path, spec))
    assert message in str(refused.value)
    assert '\n' not in str(refused.value)


@pytest.mark.parametrize('path', SHIPPED, ids=lambda path: path.stem)
def test_the_suites_that_we_ship_name_configs_that_build_and_sweeps(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    for task in Suite.of(str(path)).tasks:
        load_config(task.config, task.overrides)
        spec = read_sweep_file(task.sweep)[1]
        assert task.size is None or task.size in [size.name for size in sizes_of(spec)]


@pytest.mark.parametrize('key', ['worse', 'splits'])
def test_names_of_a_claim_are_a_list(tmp_path, key):
    claim = dict(says='a', source='b', better='c', worse=['d'], metric='loss', margin=0.1) | {key: 'attention'}
    spec = {'recall': dict(config='a.py', sweep='s.py', claim=claim)}
    with pytest.raises(UserError, match=f"recall: claim.{key}: write a list of names, not 'attention'"):
        Suite.of(write(tmp_path, spec))
