# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Ring and Ulysses attention compiled for TPU slices: chips send what the formulas say, and keep no scores."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import NamedSharding

from saccade.analysis.preflight.chips import Chips
from saccade.analysis.preflight.collectives import collectives
from saccade.analysis.preflight.preflight import spread
from saccade.attention.ring import Ring
from saccade.attention.splash import Splash
from saccade.attention.ulysses import Ulysses
from saccade.ops.devices import traced_for
from saccade.ops.mask import Causal
from saccade.ops.scoring import Scoring
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.mesh import devices_of, make_mesh
from saccade.types import Part

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec('libtpu') is None, reason='libtpu is not installed'),
]

CONFIG = Path(__file__).parents[2] / 'experiments/causal_lm/llama_7b.py'
B, T, N, K, H = 2, 4096, 16, 8, 128
BYTES = 2  # of a number in bfloat16
SLICES = {'v5e:2x2': {'sequence': 4}, 'v5p:2x2x2': {'sequence': 4, 'tensor': 2}}


@pytest.fixture(scope='module')
def chips():
    with pytest.MonkeyPatch.context() as changed:
        changed.delenv('XLA_FLAGS', raising=False)  # put back after it: flags of the CPU, of which libtpu knows nothing
        yield {name: Chips.of_slice(name) for name in SLICES}


def sent(kernel, chips, sizes, backwards):
    """Bytes that a chip sends, by kind and axis, for causal attention; and the program."""
    mesh = make_mesh(sizes, chips.devices)
    devices = devices_of(mesh)

    def like(heads):
        sharding = NamedSharding(mesh, devices.spec_of('B T N H', B, K))
        return jax.ShapeDtypeStruct((B, T, heads, H), jnp.bfloat16, sharding=sharding)

    def attended(q, k, v, *dout):
        y, pull = jax.vjp(lambda *qkv: kernel.attend(*qkv, Scoring(Causal(), scale=0.1)), q, k, v)
        return pull(*dout) if dout else y

    given = [like(heads) for heads in (N, K, K, N)[: 4 if backwards else 3]]
    places = tuple(each.sharding for each in given[:3]) if backwards else given[0].sharding
    with traced_for(devices):
        text = jax.jit(attended, out_shardings=places).lower(*given).compile().as_text()
    return {(each.kind, each.along): each.bytes for each in collectives(text, mesh.shape)}, text


def numbers(sizes, heads):
    """Numbers of a chip, in so many heads of all its tokens."""
    return B * (T // sizes['sequence']) * (heads // sizes.get('tensor', 1)) * H


@pytest.mark.parametrize('name', SLICES)
def test_a_ring_passes_keys_and_values_on(chips, name):
    sizes = SLICES[name]
    n, keys = sizes['sequence'], 2 * numbers(sizes, K)
    zigzag = 2 * numbers(sizes, N) + keys
    kernel = Ring(query_block=512, key_block=512, parent=None)
    forward, text = sent(kernel, chips[name], sizes, False)
    assert forward == {('collective-permute', 'sequence'): BYTES * ((n - 1) * keys + zigzag)}
    assert f'{T},{T}]' not in text
    both, _ = sent(kernel, chips[name], sizes, True)
    # Backward, gradients in float32 go beside keys and values, and home in bfloat16. The output is not asked for, and
    # the first hop backward is the same as the first one forward.
    backward = (n - 1) * (BYTES + 4) * keys + BYTES * (keys + zigzag)
    spared = BYTES * (numbers(sizes, N) + keys)
    assert both == {('collective-permute', 'sequence'): forward['collective-permute', 'sequence'] + backward - spared}


@pytest.mark.parametrize('name', SLICES)
@pytest.mark.parametrize('inner', [None, Part(Splash)])
def test_ulysses_hands_tokens_out_by_heads(chips, name, inner):
    sizes = SLICES[name]
    n = sizes['sequence']
    kernel = Ulysses(parent=None) if inner is None else Ulysses(inner=inner, parent=None)
    forward, text = sent(kernel, chips[name], sizes, False)
    expected = BYTES * (2 * numbers(sizes, N) + 2 * numbers(sizes, K)) * (n - 1) // n
    assert forward == {('all-to-all', 'sequence'): expected}
    assert ('tpu_custom_call' in text) == (inner is not None)


def test_the_step_of_a_language_model_exchanges_heads_and_gathers_no_tokens(chips):
    rows, tokens, layers, microbatches, width = 2, 2048, 2, 2, 512
    flags = [f'model.context_length={tokens}', f'model.layers={layers}', f'model.width={width}', 'model.vocabulary=512']
    flags += ['model.block.mixer.heads=8', 'model.block.mixer.key_value_heads=8', 'mesh.fsdp=2', 'mesh.sequence=4']
    flags += [f'batch_size={rows * microbatches}', f'accumulate={microbatches}']
    flags.append(
        "model.block.mixer.kernel={'use': 'attention.ulysses:Ulysses', 'inner': {'use': 'attention.splash:Splash'}}"
    )
    config = load_config(str(CONFIG), [f'--config.{flag}' for flag in flags])
    step = spread(Experiment.of(config), chips['v5p:2x2x2'])
    text = step.train_step(step.batches[0]).compile().as_text()
    sent = {(each.kind, each.along): each.bytes for each in collectives(text, step.whole.mesh.shape)}
    each = BYTES * rows // 2 * tokens // 4 * width * 3 // 4  # of queries, keys, values, or what is made of them
    # Forward, forward again as layers are rematerialised, and backward.
    assert sent['all-to-all', 'sequence'] == layers * microbatches * 3 * 4 * each
    assert sent.get(('all-gather', 'sequence'), 0) < each
    assert ('all-gather', 'fsdp, sequence') not in sent
