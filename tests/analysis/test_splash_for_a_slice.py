# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The splash kernel compiled for a TPU slice: it is a Mosaic kernel, on every chip, and no scores are kept."""

import importlib.util
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import NamedSharding

from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.preflight import Preflight, spread
from saccade.attention.splash import Splash
from saccade.ops.devices import traced_for
from saccade.ops.mask import Causal, SameSegment
from saccade.ops.scoring import Scoring
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.mesh import devices_of, make_mesh

CONFIG = Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py'
MOSAIC = 'tpu_custom_call'
KERNELS = 3  # forward, and backward for queries and for keys with values
ROWS, HEADS, WIDTH = 4, 8, 64

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec('libtpu') is None, reason='libtpu is not installed'),
]


@pytest.fixture(scope='module')
def chips():
    with pytest.MonkeyPatch.context() as changed:
        changed.delenv('XLA_FLAGS', raising=False)  # put back after it: flags of the CPU, of which libtpu knows nothing
        yield Chips.of_slice('v5e:2x2')


def compiled(chips, sizes, tokens):
    """Gradients of packed causal attention, over a mesh of these sizes."""
    mesh = make_mesh(sizes, chips.devices[: math.prod(sizes.values())])
    devices = devices_of(mesh)

    def like(letters, shape, dtype):
        sharding = NamedSharding(mesh, devices.spec_of(letters, ROWS, HEADS // 2))
        return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)

    def loss(q, k, v, segments):
        y = Splash(parent=None).attend(q, k, v, Scoring(Causal() & SameSegment(segments, segments), scale=0.1))
        return y.astype(jnp.float32).sum()

    heads = [like('B T N H', (ROWS, tokens, count, WIDTH), jnp.bfloat16) for count in (HEADS, HEADS // 2, HEADS // 2)]
    with traced_for(devices):
        return jax.jit(jax.grad(loss, (0, 1, 2))).lower(*heads, like('B T', (ROWS, tokens), jnp.int32)).compile()


@pytest.mark.parametrize('sizes', [{}, {'data': 2, 'tensor': 2}, {'fsdp': 4}])
def test_each_chip_runs_mosaic_kernels_on_its_own_rows_and_heads(chips, sizes):
    tokens = 1024
    text = compiled(chips, sizes, tokens).as_text()
    assert text.count(f'custom_call_target="{MOSAIC}"') == KERNELS
    assert f'{tokens},{tokens}]' not in text
    assert 'all-gather' not in text


@pytest.mark.parametrize('mesh', [{'data': 4}, {'fsdp': 4}])
def test_the_step_of_a_language_model_holds_the_kernel_and_no_scores(chips, mesh):
    tokens = 1024
    flags = [f'model.context_length={tokens}', 'batch_size=4', 'model.layers=2']
    flags.append("model.block.mixer.kernel={'use': 'attention.splash:Splash'}")
    config = load_config(str(CONFIG), [f'--config.{flag}' for flag in flags])
    step = spread(Experiment.of({**config, 'mesh': mesh}), chips)
    text = step.train_step(step.batches[0]).compile().as_text()
    assert MOSAIC in text
    assert f'{tokens},{tokens}]' not in text


def test_a_preflight_counts_the_products_of_the_chips_kernel(chips):
    flags = ['batch_size=4', 'model.layers=1', "model.block.mixer.kernel={'use': 'attention.splash:Splash'}"]
    found = Preflight.of(str(CONFIG), load_config(str(CONFIG), [f'--config.{flag}' for flag in flags]), chips)
    assert 0 < found.flops < found.hardware_flops
