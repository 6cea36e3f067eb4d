# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a preflight says of a step, beside what the process takes that runs it: on a CPU, under Linux.

python -m saccade.analysis.preflight.measured experiments/causal_lm/quickstart.py --config.batch_size=256
"""

import re
import sys
from pathlib import Path

import jax
import numpy as np

from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.preflight import Preflight, mib, spread
from saccade.train.backend import Backend
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.setup import make_backend

STEPS = 3
PROCESS = Path('/proc/self')


def main(path: str, *overrides: str) -> None:
    """Print the bytes and the FLOPs of a step, foretold and found."""
    config = load_config(path, overrides)
    experiment, chips = Experiment.of(config), Chips.here()
    foretold = Preflight.of(path, config, chips, alternatives=False)
    step = spread(experiment, chips)
    counted = step.train_step(step.batches[0]).compile().cost_analysis()['flops']
    taken = memory_of_steps(make_backend(experiment))
    print(f'{path}: {mib(foretold.ways[0].peak_bytes)} MiB foretold, {mib(taken)} MiB taken')
    print(f'{foretold.flops:.4g} FLOPs in matrix products; {counted:.4g} by XLA, which counts the body of a loop once')


def memory_of_steps(backend: Backend) -> int:
    """Bytes by which the process grows at the most while it holds a state and takes steps."""
    rows = {name: np.ones(leaf.shape, leaf.dtype) for name, leaf in backend.rows_like.items()}
    before = _bytes('VmRSS')
    state = jax.block_until_ready(backend.init(0))
    (PROCESS / 'clear_refs').write_text('5')  # the most that was in use is forgotten
    for _ in range(STEPS):
        state, metrics = backend.train_step(state, backend.place(rows))
        jax.block_until_ready(metrics)
    return _bytes('VmHWM') - before


def _bytes(field: str) -> int:
    return 1024 * int(re.search(rf'{field}:\s+(\d+) kB', (PROCESS / 'status').read_text())[1])


if __name__ == '__main__':
    main(*sys.argv[1:])
