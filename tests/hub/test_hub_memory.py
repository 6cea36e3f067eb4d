# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of the host while weights come in and go out: one tensor, and one slice of a parameter."""

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from conftest import LLAMA, llama_shapes
from flax.traverse_util import flatten_dict
from safetensors.numpy import save_file

from saccade.build import build
from saccade.hub.describe import describe
from saccade.hub.family import find_family
from saccade.hub.leaves import Leaves
from saccade.hub.load import load, shapes_of
from saccade.hub.place import place
from saccade.hub.store import tensors_of, write_tensors
from saccade.hub.tensors import Held, open_tensors

PLAIN = {'attention_bias': False, 'mlp_bias': False}
MARGIN = 4 << 20  # bytes of all else that Python allocates meanwhile


def read(folder: Path) -> tuple[Held, int, int]:
    """Read a folder into our parameters; return the counter, and bytes of the largest tensor and slice."""
    config = json.loads((folder / 'config.json').read_text())
    family = find_family(config['model_type'])
    settings = family.keys.settings(config)
    shapes = shapes_of(family.spec(settings), family.inputs_of(settings))
    with open_tensors(folder) as tensors:
        leaves = Leaves({}, 'float32')
        place(tensors, family, shapes, (), leaves)
        largest = max(4 * int(np.prod(tensors.shape(name))) for name in tensors)
    slices = {path: shape[1:] if path.startswith('layers/') else shape for path, shape in shapes.items()}
    return tensors.held, largest, max(4 * int(np.prod(shape)) for shape in slices.values())


@pytest.mark.parametrize('name', ['gpt2', 'llama'])
def test_at_most_the_largest_tensor_and_one_slice_are_held(name, gpt2, llama):
    folder = {'gpt2': gpt2, 'llama': llama}[name]
    held, largest, piece = read(folder.write_shards())
    assert largest <= held.most <= largest + piece
    assert held.alive == 0


def test_memory_is_counted_until_its_last_view_is_gone():
    held, array = Held(), np.zeros(8, np.float32)
    view = held.count(array)[2:]
    held.count(view)
    del array
    assert (held.alive, held.most) == (32, 32)
    other = held.count(np.zeros(2, np.float32))
    del view
    assert (held.alive, held.most) == (8, 40)
    assert other.nbytes == 8


def test_a_tied_copy_is_compared_by_rows(gpt2, monkeypatch):
    monkeypatch.setattr('saccade.hub.tensors._BLOCK', 24)
    gpt2.tensors['lm_head.weight'] = gpt2.tensors['wte.weight'].copy()
    held, largest, piece = read(gpt2.write_shards())
    assert held.most <= largest + piece
    gpt2.tensors['lm_head.weight'][-1, -1] += 1
    with pytest.raises(Exception, match=r"tensor 'lm_head\.weight' differs from 'wte\.weight'"):
        read(gpt2.write_shards())


@pytest.mark.parametrize('dtype', [ml_dtypes.bfloat16, np.float16])
def test_a_number_that_is_not_finite_is_found_in_any_type(llama, dtype):
    llama.tensors = {name: array.astype(dtype) for name, array in llama.tensors.items()}
    for value in (np.nan, np.inf, -np.inf):
        llama.tensors['norm.weight'][3] = value
        with pytest.raises(Exception, match=r"tensor 'norm\.weight' holds a number that is NaN"):
            load(llama.write())


@pytest.mark.long
def test_parameters_have_the_type_that_is_asked_for(llama):
    """But for the gains of norms, which are computed in float32."""
    found, exact = load(llama.write(), dtype='bfloat16').params, load(llama.path).params
    for (path, one), other in zip(jax.tree.leaves_with_path(found), jax.tree.leaves(exact), strict=True):
        assert one.dtype == (jnp.float32 if path[-1].key == 'scale' else jnp.bfloat16)
        np.testing.assert_array_equal(one, other.astype(one.dtype))


@pytest.mark.long
def test_tensors_of_64_mib_come_in_and_go_out_one_at_a_time(tmp_path):
    config = LLAMA | PLAIN | {
        'vocab_size': 8192, 'hidden_size': 2048, 'intermediate_size': 8192, 'num_attention_heads': 16,
        'num_key_value_heads': 2, 'head_dim': 128,
    }  # fmt: skip
    shapes = {name: shape for name, shape in llama_shapes(config).items() if not name.endswith('.bias')}
    names, index = sorted(shapes), {}
    for number in range(3):
        part = names[number::3]
        save_file({name: np.full(shapes[name], 0.5, np.float32) for name in part}, tmp_path / f'{number}.safetensors')
        index |= dict.fromkeys(part, f'{number}.safetensors')
    (tmp_path / 'config.json').write_text(json.dumps(config))
    (tmp_path / 'model.safetensors.index.json').write_text(json.dumps({'weight_map': index}))

    held, largest, piece = read(tmp_path)
    assert largest == piece == 64 << 20
    assert largest <= held.most <= largest + piece
    tracemalloc.start()
    pretrained = load(tmp_path)
    assert tracemalloc.get_traced_memory()[1] <= largest + piece + MARGIN

    params = flatten_dict(pretrained.params, sep='/')
    description = describe(build(pretrained.spec), {path: leaf.shape for path, leaf in params.items()}, {}, 'llama', '')
    (tmp_path / 'out').mkdir()
    tracemalloc.reset_peak()
    write_tensors(tmp_path / 'out', tensors_of(params, description), 'float32', 200 << 20)
    written = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sizes = [path.stat().st_size for path in (tmp_path / 'out').glob('*.safetensors')]
    assert len(sizes) > 2
    assert max(sizes) <= (200 << 20) + 10_000  # of values and of the header
    assert written <= 2 * largest + MARGIN


SHARDED = """
import json, sys
import jax, numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict
from saccade.axes import declared, recorded_axes
from saccade.build import build
from saccade.hub.load import load
from saccade.train.mesh import make_mesh, shardings
from saccade.train.start import start_from
from saccade.types import LayerContext

exact = load(sys.argv[1])
mesh = make_mesh({'fsdp': 2, 'tensor': 2, 'data': 2}, jax.devices())
model, place = build(exact.spec)(), LayerContext(np.arange(4)[None])
with recorded_axes():
    axes = declared(jax.eval_shape(lambda: model.init(jax.random.key(0), np.zeros((1, 4), int), place, False)))
initial = jax.tree.map(lambda leaf, where: jax.device_put(np.zeros(leaf.shape, leaf.dtype), where), exact.params,
                       shardings(exact.params, exact.params, axes, mesh))
begun = start_from((sys.argv[1], ''), initial, axes)
found, wanted, like = (flatten_dict(tree, sep='/') for tree in (begun.params, exact.params, initial))
assert found.keys() == wanted.keys() and not begun.new and not begun.left
for path, leaf in found.items():
    assert leaf.sharding == like[path].sharding, path
    np.testing.assert_array_equal(np.asarray(leaf), np.asarray(wanted[path]))
print(json.dumps(sum(not leaf.sharding.is_fully_replicated for leaf in found.values())))
"""


@pytest.mark.long
def test_weights_are_read_onto_a_mesh_of_eight_devices(llama):
    environment = {
        **os.environ,
        'JAX_PLATFORMS': 'cpu',
        'XLA_FLAGS': '--xla_force_host_platform_device_count=8',
        'PYTHONPATH': os.pathsep.join(sys.path),
    }
    command = [sys.executable, '-W', 'error', '-c', SHARDED, str(llama.write_shards())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) >= 9  # embedding, head, and the kernels of a layer
