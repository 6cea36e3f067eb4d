# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a task judges is predicted by all devices and processes together, each row once, and is the same to the bit
where weights are not split."""

import ast
import re
from pathlib import Path

import pytest

from saccade.train.evaluate import Evaluation

EXPERIMENT = Path(__file__).parents[2] / 'experiments/translation/generated.py'

# Prints, for each limit of batches: what is judged, its metrics, and how many rows this process read.
TOY = """
import json
from types import SimpleNamespace

import jax, numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from saccade.data.split import Split
from saccade.train.backend import JitBackend
from saccade.train.evaluate import Evaluation, with_task_metrics
from saccade.train.mesh import ROWS, devices_of, make_mesh, rows_read

read, seen = [], []


class Rows:
    def __len__(self):
        return 60

    def __getitem__(self, row):
        read.append(row)
        return {'x': np.random.default_rng(row).normal(size=16).astype(np.float32), 'row': np.int32(row)}

    def padding(self):
        return {'x': np.zeros(16, np.float32), 'row': np.int32(-1)}


class Task:
    def predict(self, model, params, rows):
        return {'y': rows['x'] @ params['w'], 'row': rows['row']}

    def evaluate(self, predictions, split):
        seen.append((predictions['row'].tolist(), predictions['y'].tolist()))
        return {'sum': SimpleNamespace(value=float(predictions['y'].sum()), low=0.0, high=0.0)}


class Backend(JitBackend):
    def __init__(self):
        mesh = make_mesh({'data': -1}, jax.devices())
        self._rows, self._whole = NamedSharding(mesh, ROWS), NamedSharding(mesh, PartitionSpec())
        self.traced, self.shards = devices_of(mesh), mesh.size
        self.reads = rows_read(mesh, jax.process_index())


class Nothing:
    def __call__(self):
        return None

    def walk(self):
        return ()


experiment = SimpleNamespace(
    task=Task, model=Nothing(), data=Nothing(), baseline=None, keep_best_by=None, dtype='float32', batch_size=8
)
params, split = {'w': jax.random.normal(jax.random.key(0), (16, 3))}, Split(rows=Rows(), targets=60)
for limit in (None, 3, 1):
    found = with_task_metrics(experiment, params, split, Evaluation(0, '', 60, '', {}), limit, Backend())
    seen[-1] = (*seen[-1], found.metrics, len(read))
    read.clear()
print(json.dumps(seen))
"""


@pytest.mark.long
def test_processes_share_what_is_judged(in_processes):
    (alone,), both = in_processes(TOY, count=1), in_processes(TOY)
    for number, batches in enumerate((8, 3, 1)):
        rows, y, metrics, read = alone[number]
        assert rows == [row if row < 60 else -1 for row in range(8 * batches)]
        assert read == min(8 * batches, 60)
        for each in both:
            assert each[number][:3] == [rows, y, metrics]
            assert each[number][3] <= 8 * -(-batches // 2)


# Prints a digest of all that is judged, the metrics, and how many rows this process read.
JUDGED = """
import hashlib, json, sys
import jax, numpy as np
from saccade.task import translation
from saccade.train import loop
from saccade.train.config import load_config

experiment, workdir, limit, *overrides = sys.argv[1:]
seen, read = {}, []
predict, evaluate = translation.Translation.predict, translation.Translation.evaluate


def also_logits(task, model, params, batch):
    logits = model.apply({'params': params}, *translation.given(batch), False)
    return {**predict(task, model, params, batch), 'logits': logits}


def digested(task, predictions, split):
    seen.update({name: hashlib.sha256(np.ascontiguousarray(part)).hexdigest() for name, part in predictions.items()})
    seen['rows'] = len(predictions['row'])
    return evaluate(task, predictions, split)


translation.Translation.predict, translation.Translation.evaluate = also_logits, digested
run = loop.Run(load_config(experiment, overrides), workdir, loop.Options(quiet=True))
prepared = run.prepared
rows = type(prepared.splits['validation'].rows)
get = rows.__getitem__
rows.__getitem__ = lambda self, row: read.append(row) or get(self, row)
found = run.measure(run.backend.init(0), prepared, 0, int(limit))
judged = {name: value for name, value in found.metrics.items() if name in ('exact_match',)}
print(json.dumps([{**seen, **judged}, len(read)]))
"""
SMALL = (
    '--config.batch_size=8',
    '--config.data.train=64',
    '--config.data.validation=60',
    '--config.data.generator.shortest=3',
    '--config.data.generator.longest=5',
    '--config.model.decoder.layers=1',
    '--config.model.encoder.layers=1',
    '--config.model.decoder.width=16',
)


@pytest.mark.long
@pytest.mark.parametrize(
    ('processes', 'limit', 'overrides'),
    [(2, 3, ('--config.mesh.fsdp=2',)), (1, 0, ('--config.backend=pmap',))],
)
def test_whatever_the_devices_a_translation_is_the_same(in_processes, tmp_path, processes, limit, overrides):
    """Two processes of two devices, or one, beside one of one."""
    [(expected, rows)] = in_processes(JUDGED, EXPERIMENT, tmp_path / 'alone', limit, *SMALL, count=1)
    arguments = (JUDGED, EXPERIMENT, tmp_path / 'run', limit, *SMALL, *overrides)
    found = in_processes(*arguments, count=processes, devices=2)
    assert expected['rows'] == 8 * (limit or 8)
    for judged, read in found:
        if (
            processes > 1
        ):  # whose weights are split, so that the last bits of a logit may differ; what is written does not
            judged['logits'] = expected['logits']
        assert judged == expected
        assert read <= rows / processes + 2 * 8


NAMES = ('loss', 'mean_squared_error', 'replaced_accuracy', 'a_metric_with_a_name_that_is_very_long', 'f1')


def figures(value):
    return Evaluation(
        step=3,
        split='validation',
        targets=1000,
        unit='examples',
        metrics=dict.fromkeys(NAMES, value),
        intervals=dict.fromkeys(NAMES[1:], (value, value)),
        baseline=dict.fromkeys(NAMES, value),
        baseline_name='task.regression:mean',
        estimate=value,
        signatures={'bleu': 'nrefs:1'},
    ).lines()


def test_each_figure_stands_apart_from_its_name_and_all_in_one_column():
    lines = figures(0.8527)
    columns = {re.match(r'\S+( \S+)*  +', line).end() for line in lines}
    assert columns == {len('a metric with a name that is very long') + 2}
    assert lines[2].split(maxsplit=3)[-1] == '0.8527 [0.8527, 0.8527]   (baseline mean: 0.8527)'


def test_short_names_are_followed_by_figures_at_the_usual_column():
    metrics = {'loss': 1.0, 'perplexity': 2.0, 'calibration_error': 3.0}
    lines = Evaluation(3, 'validation', 10, 'tokens', metrics, units={'loss': 'nats', 'calibration_error': '%'}).lines()
    assert lines == [
        'step               3, validation, 10 tokens',
        'loss               1.0000 nats',
        'perplexity         2.0000',
        'calibration error  3.0000 %',
    ]


def test_a_record_has_the_units_of_its_metrics_alone():
    found = Evaluation(3, 'validation', 10, 'tokens', {'loss': 1.0}, units={'loss': 'nats', 'flops': 'FLOPs'})
    assert found.record()['units'] == {'loss': 'nats'}


def test_a_figure_that_rounds_to_zero_has_no_sign():
    assert not any('-0' in line for line in figures(-1e-9))
    assert any('-0.5000' in line for line in figures(-0.5))


def baselines():
    """Functions of the package with the arguments of a baseline, as they are written."""
    for file in (Path(__file__).parents[2] / 'src/saccade').rglob('*.py'):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith('_'):
                given = [each.arg for each in node.args.posonlyargs]
                if given == ['train', 'validation', 'vocabulary']:
                    yield pytest.param(node, id=f'{file.stem}:{node.name}')


@pytest.mark.parametrize('baseline', [*baselines()])
def test_a_baseline_declares_whether_it_needs_a_vocabulary(baseline):
    reads = any(isinstance(each, ast.Name) and each.id == 'vocabulary' for each in ast.walk(baseline))
    assert ast.unparse(baseline.args.posonlyargs[-1].annotation) == ('int' if reads else 'int | None')
