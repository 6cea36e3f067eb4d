# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Check whether a run fits, here or on a TPU slice that need not be there, what it sends, and how long a step takes.

python launch/preflight.py --config=experiments/causal_lm/quickstart.py --topology=v5e:4x4 --config.mesh.fsdp=16
python launch/preflight.py --config=experiments/causal_lm/gpt2_124m.py --chip=h100
"""

from dataclasses import replace

from absl import flags

from saccade.train.process.main import run_main
from saccade.types import UserError

CONFIG = flags.DEFINE_string('config', None, 'Experiment file, changed by --config.FIELD=VALUE.')
TOPOLOGY = flags.DEFINE_string('topology', None, 'TPU slice to compile for, as v5e:4x4; none for the devices here.')
CHIP = flags.DEFINE_string('chip', None, 'Chip by whose rates to predict a step, as h100; none for that of --topology.')
ALTERNATIVES = flags.DEFINE_bool('alternatives', True, 'Compile it with rematerialised layers and microbatches too.')
MEASURE = flags.DEFINE_bool('measure', False, 'Take steps here too, and show what they took beside what was said.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print what a step of the run needs on the chips: memory, FLOPs, collectives, and time at their full rates.

    Raises:
        UserError: --config is missing, --topology and --measure are both given, or no such --chip is known.
    """
    import jax
    from rich.console import Console

    from saccade.analysis.preflight.chips import Chips
    from saccade.analysis.preflight.preflight import Preflight
    from saccade.analysis.preflight.roofline import chip_of
    from saccade.train.config import load_config

    if not CONFIG.value:
        raise UserError('give --config=FILE; experiments/ has the files we ship')
    if TOPOLOGY.value and MEASURE.value:
        raise UserError(f'--measure takes steps, and {TOPOLOGY.value} need not be there: leave out one of the two')
    if TOPOLOGY.value:
        jax.config.update('jax_platforms', 'cpu')  # of this process; libtpu only compiles
    chips = Chips.of_slice(TOPOLOGY.value) if TOPOLOGY.value else Chips.here()
    if CHIP.value:
        chips = replace(chips, kind=chip_of(CHIP.value))
    config = load_config(CONFIG.value, overrides)
    preflight = Preflight.of(CONFIG.value, config, chips)
    if MEASURE.value:
        preflight = preflight.with_measured(config)
    if ALTERNATIVES.value:
        preflight = preflight.with_alternatives(config)
    print(preflight.report().json()) if JSON.value else preflight.report().show(Console())


if __name__ == '__main__':
    run_main(main)
