# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every experiment that ships compiles for 16 TPU chips, with its rows and its weights split over them.

It takes minutes to compile the large ones as they ship, so here they are less: layers are a loop over one, which keeps
nothing for the backward pass; a chip has one row; rows are of 128 tokens at the most, of 512 where spans are to be left
out of them, and as they ship where they are patches; they are of 1024 kinds, and go through shared layers twice at the
most. Widths, heads and parts are as they ship. So it is shown that they compile and send what they should; what they
hold, launch/preflight.py tells.
"""

import importlib.util
from pathlib import Path

import jax
import pytest

from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.preflight import Way, spread
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.workdir import Workdir

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
FILES = sorted(path for path in EXPERIMENTS.rglob('*.py') if 'def get_config(' in path.read_text())
LOOP = {'use': 'model.stack:Scanned', 'remat': 'nothing_saveable'}
TOKENS = ('context_length', 'source_context_length', 'length')
MOST = {'vocabulary': 1024, 'passes': 2, 'accumulate': 1}
MESH = {'data': 4, 'fsdp': 4, 'tensor': 1}
TEACHERS = {'distil': 'masked_lm/quickstart.py'}  # what an experiment starts from that does not start from nothing

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec('libtpu') is None, reason='libtpu is not installed'),
]


@pytest.fixture(scope='module')
def chips():
    with pytest.MonkeyPatch.context() as changed:
        changed.delenv('XLA_FLAGS', raising=False)  # put back after it: flags of the CPU, of which libtpu knows nothing
        yield Chips.of_slice('v5e:4x4')


@pytest.fixture
def started(tmp_path):
    """A function of an experiment's name: overrides that give it the run that it starts from, if it needs one."""

    def make(name):
        if name not in TEACHERS:
            return []
        Workdir.open(tmp_path / 'run', load_config(str(EXPERIMENTS / TEACHERS[name])))
        (tmp_path / 'run' / 'checkpoints').mkdir()
        return [f'--config.init_from={tmp_path / "run"}']

    return make


def smaller(value, most, name=''):
    """The config, with every stack of layers as a loop, and no size above the most that it may be."""
    if isinstance(value, dict):
        looped = str(value.get('use', '')).startswith('model.stack:')
        return LOOP if looped else {name: smaller(item, most, name) for name, item in value.items()}
    if isinstance(value, list):
        return [smaller(item, most) for item in value]
    return min(value, most[name]) if name in most and isinstance(value, int) else value


def test_there_are_experiments():
    assert {path.parent.name for path in FILES} >= {'causal_lm', 'masked_lm', 'translation', 'denoising', 'finetune'}


@pytest.mark.parametrize('file', FILES, ids=lambda path: f'{path.parent.name}/{path.stem}')
def test_it_compiles_for_sixteen_chips(file, chips, started):
    tokens = {'denoising': 512, 'vision': 1024, 'pairs': 256}.get(file.parent.name, 128)
    config = smaller(load_config(str(file), started(file.stem)), MOST | dict.fromkeys(TOKENS, tokens))
    rows = len(chips.devices) * config['accumulate']
    mesh = MESH if config['mesh']['fsdp'] == 1 else config['mesh']
    way = Way.of('', spread(Experiment.of({**config, 'mesh': mesh, 'batch_size': rows}), chips), chips)
    assert way.fits
    kinds = {each.kind for each in way.sent}
    assert 'all-gather' in kinds
    assert kinds & {'all-reduce', 'reduce-scatter'}
    jax.clear_caches()
