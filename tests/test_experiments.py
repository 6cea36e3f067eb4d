# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every experiment that ships can be built, and its fields stay consistent under an override."""

from pathlib import Path

import jax
import pytest

from saccade.sweep.plan import Plan
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.trained import param_shapes

ROOT = Path(__file__).parents[1]
SWEEPS = sorted((ROOT / 'experiments/sweeps').glob('*.py'))
FILES = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / 'experiments').rglob('*.py') if path.parent.name != 'sweeps'
)


def test_there_are_experiments():
    assert {Path(file).stem for file in FILES} >= {'quickstart', 'char_shakespeare', 'gpt2_124m', 'llama_tiny'}


@pytest.mark.parametrize('file', FILES)
def test_it_builds_and_makes_parameters(file):
    experiment = Experiment.of(load_config(str(ROOT / file)))
    assert experiment.model().context == experiment.data().context
    assert jax.tree.leaves(param_shapes(experiment))
    experiment.optimizer()(experiment.schedule()(experiment.steps), param_shapes(experiment))


@pytest.mark.parametrize('file', FILES)
def test_another_width_changes_what_hangs_on_it(file):
    heads = load_config(str(ROOT / file))['model']['block']['mixer']['heads']
    config = load_config(str(ROOT / file), [f'--config.model.width={16 * heads}', '--config.model.layers=2'])
    shapes = param_shapes(Experiment.of(config))
    assert shapes['embedding'].shape[1] == 16 * heads
    assert {leaf.shape[0] for leaf in jax.tree.leaves(shapes['layers'])} == {2}


def test_there_are_sweeps():
    assert {path.stem for path in SWEEPS} >= {'heads', 'learning_rate'}


@pytest.mark.parametrize('sweep', SWEEPS, ids=lambda path: path.stem)
def test_every_variant_of_a_sweep_can_be_built(sweep):
    planned = Plan.of(str(ROOT / 'experiments/causal_lm/quickstart.py'), str(sweep), ['--config.model.layers=1'])
    assert len(planned.variants) > 1
    assert len({run.name for run in planned.sweep.runs}) == len(planned.sweep.runs) >= 3 * len(planned.variants)
    assert planned.sweep.title not in ('', sweep.stem)
