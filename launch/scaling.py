# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Show what a chip sends in a step as chips and rows grow together, on TPU slices that need not be there.

python launch/scaling.py --config=experiments/causal_lm/llama_tiny.py --axis=fsdp --topologies=v5p:2x2x2,v5p:4x4x4
"""

from absl import flags

from saccade.train.process.main import run_main
from saccade.types import UserError

CONFIG = flags.DEFINE_string('config', None, 'Experiment file, changed by --config.FIELD=VALUE.')
TOPOLOGIES = flags.DEFINE_list('topologies', [], 'TPU slices, as v5p:2x2x2,v5p:4x4x4; none for the devices here.')
AXIS = flags.DEFINE_string('axis', 'data', 'Along which axis of the mesh all chips lie: data, fsdp or expert.')
ROWS = flags.DEFINE_integer('rows', 1, 'Rows of each chip.', lower_bound=1)
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print what a chip sends in a step, for each number of chips.

    Raises:
        UserError: --config is missing.
    """
    import jax
    from rich.console import Console

    from saccade.analysis.preflight.chips import Chips
    from saccade.analysis.preflight.scaling import Scaling
    from saccade.train.config import load_config

    if not CONFIG.value:
        raise UserError('give --config=FILE; experiments/ has the files we ship')
    if TOPOLOGIES.value:
        jax.config.update('jax_platforms', 'cpu')  # of this process; libtpu only compiles
    slices = [Chips.of_slice(name) for name in TOPOLOGIES.value] or [Chips.here()]
    config = load_config(CONFIG.value, overrides)
    report = Scaling.of(CONFIG.value, config, AXIS.value, ROWS.value, slices).report()
    print(report.json()) if JSON.value else report.show(Console())


if __name__ == '__main__':
    run_main(main)
