# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Folders of runs as training would leave them, with numbers made up."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade.sweep.record import Run, Sweep, write_sweep

TOKENS = 256  # a step
PARAMETERS = {1: 1000, 2: 2000, 4: 4000}
FAILED, UNFINISHED, WAITING = ('heads=4', 2), ('heads=2', 1), ('heads=8', 0)
LAST_LINES = ('Traceback <most> recent & so on', 'error: step 7: the loss is not finite')
SAMPLE = 'def <script>alert("run")</script> & more'


def config(seed: int = 0, heads: int = 1, **more: Any) -> dict[str, Any]:
    """A config with what every run has, and a part."""
    mixer = {'use': 'attention.multi_head:MultiHead', 'heads': heads}
    model = {'use': 'model.decoder:Decoder', 'width': 32, 'block': {'use': 'block.pre_norm:PreNorm', 'mixer': mixer}}
    return {'seed': seed, 'steps': 40, 'task': {'use': 't:T'}, 'data': {'use': 'd:D'}, 'model': model, **more}


def records(seed: int, heads: int, last: int = 40, plan: bool = True) -> list[dict[str, Any]]:
    """What a run logs up to a step: training every 5 steps, validation every 10."""
    generator = random.Random(f'{seed} {heads}')
    found: list[dict[str, Any]] = []
    if plan:
        cost = {'parameters': PARAMETERS[heads], 'flops': 7 * PARAMETERS[heads], 'tokens': TOKENS, 'peak_bytes': 10}
        found.append({'step': 0, 'split': 'plan', **cost})
    for step in range(5, last + 1, 5):
        loss = 3 + 4 / step - 0.02 * heads + generator.gauss(0, 0.01)
        speed = generator.uniform(900, 1100)
        found.append({'step': step, 'split': 'train', 'loss': loss, 'tokens_per_second': speed})
        if step % 10 == 0:
            found.append({'step': step, 'split': 'validation', 'loss': loss, 'accuracy': 1 / loss})
            found[-1]['bits_per_byte'] = loss / 2
    return found


def write_run(folder: Path, settings: Mapping[str, Any], logged: Sequence[Mapping[str, Any]]) -> None:
    """Put the files of a run in place."""
    folder.mkdir(parents=True)
    (folder / 'config.json').write_text(json.dumps(settings))
    (folder / 'metrics.jsonl').write_text(''.join(json.dumps(record) + '\n' for record in logged))
    (folder / 'samples.jsonl').write_text(json.dumps({'step': 1, 'text': SAMPLE}) + '\n')
    (folder / 'printed.log').write_text('printed')


def write_study(folder: Path, title: str = 'How many heads? <b>&') -> Path:
    """A sweep over heads with a run that failed, one cut short and one that has not begun."""
    runs = []
    for heads in (1, 2, 4, 8):
        for seed in range(1 if heads == 8 else 3):
            name, key = f'heads={heads},seed={seed}', (f'heads={heads}', seed)
            status = 'failed' if key == FAILED else 'waiting' if key in (UNFINISHED, WAITING) else 'finished'
            runs.append(
                Run(
                    name,
                    variant=key[0],
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
                write_run(folder / name, config(seed, heads), records(seed, heads, last))
    write_sweep(folder, Sweep('base.py', 'heads.py', title, config(), tuple(runs)))
    return folder
