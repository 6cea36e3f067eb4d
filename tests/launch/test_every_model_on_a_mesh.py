# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Eight devices along data, fsdp and tensor give the losses of one, whatever the model."""

import json
import os
from pathlib import Path

import forked
import pytest

ROOT = Path(__file__).parents[2]
MESH = {'data': 2, 'fsdp': 2, 'tensor': 2}
SAME_NUMBERS = 1e-5  # relative difference, of losses that are the same but for the order of sums

NARROW = ('--config.model.width=32', '--config.model.vocabulary=304', '--config.data.context_length=16')
BOTH = ('--config.model.decoder.vocabulary=400', '--config.model.decoder.width=16', '--config.data.context_length=24')
MASKED = ("--config.data.pairing={'use': 'data.encoder.pairing:OnePassage'}", *NARROW)
DATES = ('--config.data.train=64', '--config.data.validation=16')
RUNS = {
    'causal_lm/quickstart.py': (*NARROW, '--config.model.block.mixer.heads=2'),
    'causal_lm/mixtral_tiny.py': NARROW,
    'causal_lm/deepseek_tiny.py': NARROW,
    'causal_lm/gemma2_tiny.py': NARROW,
    'causal_lm/hybrid.py': NARROW,
    'causal_lm/linear_lm.py': NARROW,
    'denoising/prefix_lm.py': BOTH,
    'denoising/t5.py': BOTH,
    'masked_lm/quickstart.py': MASKED,
    'translation/dates.py': DATES,
    'translation/dates_recurrent.py': DATES,
}


@pytest.mark.slow
@pytest.mark.parametrize('name', RUNS)
def test_a_mesh_gives_the_losses_of_one_device(runner, tmp_path, name):
    flags = f'{os.environ["XLA_FLAGS"]} --xla_force_host_platform_device_count=8'
    on_text = () if name.startswith('translation') else (f'--config.data.path={runner.text}',)
    command = (ROOT / 'tests/launch/meshes.py', ROOT / 'experiments' / name, json.dumps(MESH))
    output = [tmp_path / 'out', tmp_path / 'err']
    arguments = [*map(str, command), *RUNS[name], *on_text, '--config.batch_size=8']
    status = forked.run(arguments, runner.folder, {**runner.environment, 'XLA_FLAGS': flags}, output)
    assert status == 0, output[1].read_text()
    one, spread = json.loads(output[0].read_text())
    assert spread == pytest.approx(one, rel=SAME_NUMBERS)
    assert len(set(one)) == len(one)
