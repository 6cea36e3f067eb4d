# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Graphs of a user's own from the command line: trained on, evaluated, predicted; and what is refused in one line."""

import json
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
SIZES = ('context_length=24', 'node_features=2', 'edge_types=1', 'identifiers.count=3')
SMALL = (
    f'--config={EXPERIMENTS}/graphs/files.py',
    *(f'--config.data.{each}' for each in SIZES),
    '--config.model.width=16',
    '--config.model.layers=1',
    '--config.batch_size=4',
    '--config.steps=2',
    '--config.schedule.warmup=1',
)

pytestmark = pytest.mark.long


def written(folder, **changes):
    """Paths of four carbons or more, and the same with an oxygen at the end; the third line may be changed."""
    graphs = []
    for number in range(20):
        nodes = [*(4 + number % 3) * ['C'], 'CO'[number % 2]]
        edges = [[node, node + 1, 'single'] for node in range(len(nodes) - 1)]
        graphs.append(dict(nodes=nodes, edges=edges, label=('without', 'with')[number % 2]))
    graphs[2] |= changes
    path = folder / 'graphs.jsonl'
    path.write_text('\n'.join(map(json.dumps, graphs)))
    return path


def test_a_run_on_graphs_is_evaluated_and_predicts_of_new_ones(runner, tmp_path):
    path, workdir = written(tmp_path), tmp_path / 'run'
    done = runner.run('train', *SMALL, f'--config.data.path={path}', f'--workdir={workdir}')
    assert done.returncode == 0, done.stderr
    assert 'launch/predict.py --file=graphs.jsonl' in done.stdout
    assert 'accuracy' in json.loads(runner.run('evaluate', f'--workdir={workdir}', '--json').stdout)
    new = tmp_path / 'new.jsonl'
    new.write_text(json.dumps(dict(nodes=['C', 'O'], edges=[[0, 1]])))
    found = json.loads(runner.run('predict', f'--workdir={workdir}', f'--file={new}', '--json').stdout)
    assert found['label'] in ('with', 'without')
    assert sum(found['probabilities'].values()) == pytest.approx(1, abs=1e-5)
    assert "['C', 'O']" in runner.run('predict', f'--workdir={workdir}', f'--file={new}').stdout
    new.write_text(json.dumps(dict(nodes=['C', 'O'], edges=[[0, 2]])))
    refused = runner.run('predict', f'--workdir={workdir}', f'--file={new}')
    assert (refused.returncode, refused.stderr.count('\n')) == (2, 1)
    assert 'new.jsonl, line 1: the edge [0, 2] has an end 2, but the nodes are 0 to 1' in refused.stderr


def test_a_bad_graph_is_refused_before_anything_is_written(runner, tmp_path):
    path = written(tmp_path, nodes=[])
    refused = runner.run('train', *SMALL, f'--config.data.path={path}', f'--workdir={tmp_path / "run"}')
    assert refused.returncode == 2
    assert f"{path}, line 3: 'nodes' must be a list of at least one node, not []" in refused.stderr
