# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of runs as training would leave them, with numbers made up."""

import json
import random
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade.sweep.record import Sweep, SweepRun, write_sweep
from saccade.train.log.declarations import Declarations
from saccade.types import Metric, fraction

TOKENS = 256  # a step
BASELINE = 1.56  # bits per byte
PARAMETERS = {1: 1000, 2: 2000, 4: 4000}
FAILED, UNFINISHED, WAITING = ('heads=4', 2), ('heads=2', 1), ('heads=8', 0)
LAST_LINES = ('Traceback <most> recent & so on', 'error: step 7: the loss is not finite')
DECLARED = (
    Metric('loss', 'lowest', 0.0, unit='nats'),
    Metric('bits_per_byte', 'lowest', 0.0, unit='bits'),
    fraction('accuracy'),
)
SAMPLE = 'def <script>alert("run")</script> & more'


def config(seed: int = 0, heads: int = 1, **more: Any) -> dict[str, Any]:
    """A config with what every run has, and a part."""
    mixer = {'use': 'attention.multi_head:MultiHead', 'heads': heads}
    model = {'use': 'model.decoder:Decoder', 'width': 32, 'block': {'use': 'block.pre_norm:PreNorm', 'mixer': mixer}}
    settings = {'seed': seed, 'steps': 40, 'batch_size': 8, 'task': {'use': 't:T'}, 'data': {'use': 'd:D'}}
    return {**settings, 'model': model, **more}


def records(seed: int, heads: int, last: int = 40, plan: bool = True) -> list[dict[str, Any]]:
    """What a run logs up to a step: training every 5 steps, validation every 10."""
    generator = random.Random(f'{seed} {heads}')
    found: list[dict[str, Any]] = []
    if plan:
        cost = {'parameters': PARAMETERS[heads], 'flops': 7 * PARAMETERS[heads], 'tokens': TOKENS, 'peak_bytes': 10}
        cost |= {'temp_bytes': 2_687_360, 'state_bytes': 528 * heads * TOKENS // 8}
        found.append({'step': 0, 'split': 'plan', **cost})
    for step in range(5, last + 1, 5):
        loss = 3 + 4 / step - 0.02 * heads + generator.gauss(0, 0.01)
        speed = generator.uniform(900, 1100)
        found.append({'step': step, 'split': 'train', 'loss': loss, 'tokens_per_second': speed})
        found[-1]['gradient_norm'] = 1 + 3 / step
        if step % 10 == 0:
            found.append({'step': step, 'split': 'validation', 'loss': loss, 'accuracy': 1 / loss})
            found[-1]['bits_per_byte'] = loss / 2
    return found


def start(**changes: Any) -> dict[str, Any]:
    """A record of provenance; a field that is changed to None is left out."""
    versions = {'saccade': '0.1.0', 'jax': '0.10.2', 'jaxlib': '0.10.2', 'flax': '0.12.8', 'python': '3.11.7'}
    machine = {'device': 'cpu', 'devices': 1, 'processes': 1, 'processor': 'AMD EPYC 9654', 'cores': 2, 'host': 'node1'}
    times = {'start': '2026-11-23T01:45:44+00:00', 'end': '2026-11-23T01:50:10+00:00', 'status': 'finished'}
    command = f'python launch/train.py {shlex.quote("--config.note=<script>")}'
    found = {**versions, 'commit': 40 * 'c', 'clean': True, **machine, 'command': command, **times, **changes}
    return {name: value for name, value in found.items() if value is not None}


def declare(folder: Path, metrics: Sequence[Metric] = DECLARED, best_by: str = 'loss') -> None:
    """Declare the metrics of a run."""
    Declarations(best_by, {metric.name: metric for metric in metrics}).write(folder / 'declared_metrics.json')


def write_run(
    folder: Path,
    settings: Mapping[str, Any],
    logged: Sequence[Mapping[str, Any]],
    starts: Sequence[Mapping[str, Any]] = (),
    declared: Sequence[Metric] = DECLARED,
) -> None:
    """Put the files of a run in place."""
    folder.mkdir(parents=True)
    (folder / 'config.json').write_text(json.dumps(settings))
    (folder / 'metrics.jsonl').write_text(''.join(json.dumps(record) + '\n' for record in logged))
    declare(folder, declared)
    (folder / 'samples.jsonl').write_text(json.dumps({'step': 1, 'text': SAMPLE}) + '\n')
    (folder / 'printed.log').write_text('printed')
    if starts:
        (folder / 'provenance.jsonl').write_text(''.join(json.dumps(record) + '\n' for record in starts))


def write_study(folder: Path, title: str = 'How many heads? <b>&', whole: bool = False) -> Path:
    """A sweep over heads with a run that failed, one cut short and one that has not begun; a `whole` one has none."""
    runs = []
    for heads in (1, 2, 4) if whole else (1, 2, 4, 8):
        for seed in range(1 if heads == 8 else 3):
            name, key = f'heads={heads},seed={seed}', None if whole else (f'heads={heads}', seed)
            status = 'failed' if key == FAILED else 'waiting' if key in (UNFINISHED, WAITING) else 'finished'
            runs.append(
                SweepRun(
                    name,
                    variant=f'heads={heads}',
                    seed=seed,
                    overrides=(),
                    steps=40,
                    status=status,
                    exit=1 if key == FAILED else None,
                    last_lines=LAST_LINES if key == FAILED else (),
                )
            )
            if key != WAITING:
                last = 25 if key in (FAILED, UNFINISHED) else 40
                logged = records(seed, heads, last)
                logged += [{'step': 40, 'split': 'baseline', 'bits_per_byte': BASELINE}] if last == 40 else []
                write_run(folder / name, config(seed, heads), logged, [start()])
    write_sweep(folder, Sweep('base.py', 'heads.py', title, config(), tuple(runs)))
    return folder


def write_task(
    folder: Path,
    accuracies: Mapping[str, Sequence[float]],
    chance: float,
    longer: Mapping[str, float] | None = None,
) -> None:
    """Write a sweep; where accuracies of `longer` sequences are given by variant, runs have those too."""
    runs = []
    for number, (variant, values) in enumerate(accuracies.items()):
        for seed, value in enumerate(values):
            name = f'{number},seed={seed}'
            runs.append(SweepRun(name, variant, seed, (), 40, 'finished', 0))
            plan = {'parameters': 1, 'flops': 2, 'tokens': 3, 'state_bytes': 100 * 10**number}
            logged = [{'step': 0, 'split': 'plan', **plan}]
            logged += [{'step': 40, 'split': 'validation_64', 'accuracy': longer[variant]}] if longer else []
            logged += [{'step': 40, 'split': 'validation', 'accuracy': value, 'loss': 1 - value}]
            logged += [{'step': 40, 'split': 'baseline', 'accuracy': chance, 'loss': 1 - chance}]
            settings = config(seed, number + 1, data={'use': 'd:D', 'context_length': 32})
            write_run(folder / name, settings, logged, [start()])
    write_sweep(folder, Sweep('base.py', 'mixers.py', 'Mixers', config(), tuple(runs)))
