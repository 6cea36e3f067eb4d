# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Fields of an experiment that no compiled program depends on, and a digest of the others.

Runs of one program are best trained one after another in one process: `train.setup:make_backend` compiles it once.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

# Every other field counts as changing the program.
OUTSIDE = (
    'seed',
    'steps',
    'schedule',
    'extended',
    'log_every',
    'eval_every',
    'checkpoint_every',
    'eval_batches',
    'eval_lengths',
    'keep_last',
    'keep_best',
    'keep_best_by',
    'stop_at',
    'init_from',
    'init_part',
    'inherit',
    'adapt',
    'sample',
    'baseline',
    'logging',
)
# Fields that are built again for other numbers, which are arguments of a program (`train.scales`).
HAVE_SCALES = ('ema', 'schedule_free', 'optimizer', 'task')


def program_digest(config: Mapping[str, Any]) -> str:
    """Return a digest by which to group the configs of runs, without building or importing their parts.

    The digest covers all that a program may depend on: model, task, optimizer, data, rows, mesh, backend, dtype,
    microbatches and adapter, but not the values of nonzero numbers in the task and the optimizer, nor texts of the
    data, such as a path. Runs of one digest share a program unless they differ in a number that programs do not take as
    an argument (`train.scales`), or in the shapes of the batches; `train.setup:program_key` is exact. The digest is the
    same in every process.

    Args:
        config: resolved, as in a run's config.json.
    """
    inside = {name: value for name, value in config.items() if name not in OUTSIDE}
    shared = {**dict.fromkeys(HAVE_SCALES, _without_numbers), 'data': _without_texts}
    inside |= {name: function(inside[name]) for name, function in shared.items() if name in inside}
    return hashlib.sha256(json.dumps(inside, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _without_numbers(value: Any) -> Any:
    """Leave out the values of numbers, but not whether they are zero."""
    if isinstance(value, Mapping):
        return {name: _without_numbers(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_numbers(item) for item in value]
    return bool(value) if isinstance(value, float) else value


def _without_texts(value: Any) -> Any:
    """Leave out texts, and None in place of a text, but not the names of parts."""
    if isinstance(value, Mapping):
        kept = {name: item for name, item in value.items() if name == 'use' or not isinstance(item, str | None)}
        return {name: item if name == 'use' else _without_texts(item) for name, item in kept.items()}
    if isinstance(value, list | tuple):
        return [_without_texts(item) for item in value if not isinstance(item, str | None)]
    return value
