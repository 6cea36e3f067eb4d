# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Check whether a run fits: memory, communication and step time here, or on a TPU slice without access to it.

python launch/preflight.py --config=experiments/causal_lm/quickstart.py --topology=v5e:4x4 --config.mesh.fsdp=16
python launch/preflight.py --config=experiments/causal_lm/gpt2_124m.py --chip=h100
"""

from absl import flags

from saccade.train.process.main import run_main
from saccade.types import UserError

CONFIG = flags.DEFINE_string('config', None, 'Experiment file, changed by --config.FIELD=VALUE.')
TOPOLOGY = flags.DEFINE_string('topology', None, 'TPU slice to compile for, such as v5e:4x4; default: local devices.')
CHIP = flags.DEFINE_string(
    'chip', None, 'Chip of the roofline, such as h100; default: that of --topology, or this one.'
)
ALTERNATIVES = flags.DEFINE_bool('alternatives', True, 'Also compile with rematerialised layers and microbatches.')
MEASURE = flags.DEFINE_bool('measure', False, 'Also run steps here, and compare with the prediction.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print memory, FLOPs, collectives and roofline of a training step.

    Raises:
        UserError: --config is missing, --topology and --measure are both given, or no such --chip is known.
    """
    import jax
    from rich.console import Console

    from saccade.analysis.preflight.chips import Chips
    from saccade.analysis.preflight.preflight import Preflight
    from saccade.train.config import load_config

    if not CONFIG.value:
        raise UserError('give --config=FILE; the shipped experiments are in experiments/')
    if TOPOLOGY.value and MEASURE.value:
        raise UserError(f'--measure runs steps on local devices, not on {TOPOLOGY.value}: omit --measure or --topology')
    if TOPOLOGY.value:
        jax.config.update('jax_platforms', 'cpu')  # for this process; libtpu only compiles
    chips = Chips.of_slice(TOPOLOGY.value) if TOPOLOGY.value else Chips.here()
    if CHIP.value:
        chips = chips.like(CHIP.value)
    config = load_config(CONFIG.value, overrides)
    preflight = Preflight.of(CONFIG.value, config, chips)
    if MEASURE.value:
        preflight = preflight.with_measured(config)
    if ALTERNATIVES.value:
        preflight = preflight.with_alternatives(config)
    print(preflight.report().json()) if JSON.value else preflight.report().show(Console())


if __name__ == '__main__':
    run_main(main)
