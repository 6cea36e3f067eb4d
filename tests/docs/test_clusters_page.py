# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""SkyPilot's tasks in the guide on clusters: SkyPilot parses them, and their commands run in two local processes."""

import json
import os
import re
import socket
import subprocess
import sys
import venv
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / 'docs/guides/clusters.md').read_text()
TASKS = {task['name']: task for task in map(yaml.safe_load, re.findall(r'```yaml\n(.*?)```', PAGE, re.S))}
PROGRAM = 'import json, sky, sys; print(*[sky.Task.from_yaml_str(text).name for text in json.load(sys.stdin)])'
SMALL = """
from saccade.experiments.causal_lm import quickstart

def get_config():
    config = quickstart.get_config()
    config.steps, config.batch_size, config.schedule.warmup, config.eval_every = 4, 4, 1, 0
    config.data.path, config.data.context_length = 'text.txt', 32
    config.model.width, config.model.layers, config.model.vocabulary = 32, 1, 280
    config.model.block.mixer.heads = 2
    return config
"""
SWEEP = "def get_sweep():\n    return dict(runs=dict(grid={'schedule.peak': [1e-3, 2e-3]}), seeds=1)\n"


@pytest.fixture
def folder(tmp_path):
    """The clone on a node, with a small config and a small sweep."""
    for name in ('launch', 'experiments'):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / 'small.py').write_text(SMALL)
    (tmp_path / 'sweep.py').write_text(SWEEP)
    (tmp_path / 'text.txt').write_text('the cat sat on the mat\n\n' * 100)
    return tmp_path


def started(folder, name, **environment):
    """The commands of a task, as SkyPilot starts them on a node."""
    python = Path(sys.executable).parent
    task = TASKS[name]['envs'] | {'CONFIG': 'small.py', 'SWEEP': 'sweep.py', 'WORKDIR': 'runs/a'}
    known = {'JAX_PLATFORMS': 'cpu', 'SACCADE_CACHE': str(folder / 'cache'), 'PATH': f'{python}:{os.environ["PATH"]}'}
    given = {**os.environ, **known, **task, **environment}
    commands = ['bash', '-ec', TASKS[name]['run'].replace(':8476', ':$PORT')]
    return subprocess.Popen(commands, cwd=folder, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    return out


def logged(run):
    return [json.loads(line) for line in (run / 'metrics.jsonl').read_text().splitlines()]


@pytest.mark.long
def test_a_task_on_two_hosts_is_one_run(folder):
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        port = str(listener.getsockname()[1])
    hosts = {'SKYPILOT_NODE_IPS': '127.0.0.1\n127.0.0.2', 'SKYPILOT_NUM_NODES': '2', 'PORT': port}
    both = [started(folder, 'gpt2', SKYPILOT_NODE_RANK=str(rank), **hosts) for rank in range(2)]
    try:
        first, _ = map(ended, both)
    finally:
        for process in both:
            process.kill()
    assert 'devices     2 x cpu' in first
    assert logged(folder / 'runs/a')[-1]['step'] == 4


@pytest.mark.long
def test_a_task_of_a_sweep_trains_its_runs_side_by_side_and_reports(folder):
    assert '2 in parallel' in ended(started(folder, 'heads', SKYPILOT_NUM_GPUS_PER_NODE='2'))
    runs = sorted((folder / 'runs/a').glob('peak=*'))
    assert [logged(run)[-1]['step'] for run in runs] == [4, 4]
    assert (folder / 'runs/a/report/index.html').is_file()


@pytest.mark.long
def test_skypilot_parses_the_tasks(tmp_path):
    venv.create(tmp_path / 'venv', with_pip=True)
    python = tmp_path / 'venv/bin/python'
    install = [python, '-m', 'pip', 'install', '--quiet', 'skypilot==0.14.1']
    if subprocess.run(install, capture_output=True).returncode:
        pytest.skip('skypilot cannot be installed')
    given, home = json.dumps([yaml.safe_dump(task) for task in TASKS.values()]), {**os.environ, 'HOME': str(tmp_path)}
    parsed = subprocess.run([python, '-c', PROGRAM], input=given, env=home, capture_output=True, text=True)
    assert parsed.stdout.split() == list(TASKS), parsed.stderr
