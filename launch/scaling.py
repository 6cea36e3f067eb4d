# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Predict weak scaling: bytes that a chip sends per step, for TPU slices of growing size and proportional batches.

python launch/scaling.py --config=experiments/causal_lm/llama_tiny.py --axis=fsdp --topologies=v5p:2x2x2,v5p:4x4x4
"""

from absl import flags

from saccade.train.process.main import run_main
from saccade.types import UserError

CONFIG = flags.DEFINE_string('config', None, 'Experiment file, changed by --config.FIELD=VALUE.')
TOPOLOGIES = flags.DEFINE_list('topologies', [], 'TPU slices, such as v5p:2x2x2,v5p:4x4x4; default: local devices.')
AXIS = flags.DEFINE_string('axis', 'data', 'Mesh axis of all chips: data, fsdp or expert.')
ROWS = flags.DEFINE_integer('rows', 1, 'Rows per chip.', lower_bound=1)
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print the bytes that a chip sends per step, for each number of chips.

    Raises:
        UserError: --config is missing.
    """
    import jax
    from rich.console import Console

    from saccade.analysis.preflight.chips import Chips
    from saccade.analysis.preflight.scaling import Scaling
    from saccade.train.config import load_config

    if not CONFIG.value:
        raise UserError('give --config=FILE; the shipped experiments are in experiments/')
    if TOPOLOGIES.value:
        jax.config.update('jax_platforms', 'cpu')  # for this process; libtpu only compiles
    slices = [Chips.of_slice(name) for name in TOPOLOGIES.value] or [Chips.here()]
    config = load_config(CONFIG.value, overrides)
    report = Scaling.of(CONFIG.value, config, AXIS.value, ROWS.value, slices).report()
    print(report.json()) if JSON.value else report.show(Console())


if __name__ == '__main__':
    run_main(main)
