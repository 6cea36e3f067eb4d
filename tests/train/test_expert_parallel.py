# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Experts on eight devices give what one device gives: outputs, losses, metrics and gradients, whatever the router."""

import json

import pytest

SAME_NUMBERS = 1e-5  # relative to the largest of an array, but for the order of sums
ROUNDED = 0.03  # the same in bfloat16

CASES = """
import json, os
os.environ['XLA_FLAGS'] += ' --xla_backend_optimization_level=0'
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding
from saccade.axes import declared, recorded_axes
from saccade.build import build
from saccade.ops.devices import traced_for
from saccade.train.mesh import ROWS, devices_of, make_mesh, spec_of
from saccade.train.optimizer import each_leaf

ROWS_, TOKENS, WIDTH = 8, 6, 8
MLP = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}, 'ratio': 2.0}
GATED = {'use': 'feedforward.gated:Gated', 'activation': {'use': 'jax.nn:silu'}, 'width': 12}
SOFTMAX, SIGMOID = ({'score': {'use': f'jax.nn:{name}'}, 'renormalised': True} for name in ('softmax', 'sigmoid'))
CHOICE = {'use': 'feedforward.token_choice:TokenChoice', 'balance': 0.1, 'z': 0.1, **SOFTMAX}
FREE = {'use': 'feedforward.loss_free:LossFree', **SIGMOID}
EXPERTS_CHOOSE = {'use': 'feedforward.expert_choice:ExpertChoice'}

random = np.random.default_rng(0)
X = jnp.array(random.normal(size=(ROWS_, TOKENS, WIDTH)), jnp.float32)
REAL = jnp.array(random.random((ROWS_, TOKENS)) > 0.2)
ALIKE = 2.0 + 0.1 * X  # all tokens choose the same experts

def mixture(experts, active, router, expert=MLP, **fields):
    names = {'use': 'feedforward.mixture:Mixture', 'experts': experts, 'active': active}
    return build({**names, 'expert': expert, 'router': router, **fields})()

CASES = {
    'token choice': (mixture(8, 2, CHOICE), X, REAL),
    'capacity': (mixture(8, 2, {**CHOICE, 'capacity': 0.8}), X, REAL),
    'expert choice': (mixture(8, 2, EXPERTS_CHOOSE, GATED), X, REAL),
    'loss-free': (mixture(16, 3, FREE, shared=GATED), X, None),
    'one expert for all': (mixture(8, 1, CHOICE, block=3), ALIKE, None),
    'bfloat16': (mixture(8, 2, CHOICE), X, REAL),
}

def stepped(module, dtype, params, x, real):
    def loss(params, x):
        rounded = jax.tree.map(lambda leaf: leaf.astype(dtype), (params, x))
        reports = {'rngs': {'dropout': jax.random.key(0)}, 'mutable': ['losses', 'metrics']}
        y, reported = module.apply({'params': rounded[0]}, rounded[1], True, real, **reports)
        losses = sum(loss.mean() for loss in reported.get('losses', {}).get('router', {}).get('router', ()))
        return (y.astype(jnp.float32) * jnp.sin(jnp.arange(y.size)).reshape(y.shape)).sum() + losses, (y, reported)

    return jax.jit(jax.grad(loss, (0, 1), has_aux=True))(params, x)

def differences(sizes, name):
    module, x, real = CASES[name]
    mesh, dtype = make_mesh(sizes, jax.devices()), 'bfloat16' if name == 'bfloat16' else 'float32'
    with recorded_axes():
        shapes = jax.eval_shape(lambda: module.init(jax.random.key(0), x, False))
    axes, draw = declared(shapes), np.random.default_rng(1)
    params = jax.tree.map(lambda leaf: jnp.array(draw.normal(size=leaf.shape, scale=0.5), 'float32'), shapes['params'])
    one = stepped(module, dtype, params, x, real)
    split = each_leaf(params, lambda path, leaf: jax.device_put(
        leaf, NamedSharding(mesh, spec_of(axes[path], leaf.shape, mesh))))
    rows = NamedSharding(mesh, ROWS)
    with traced_for(devices_of(mesh)):
        real = None if real is None else jax.device_put(real, rows)
        many = stepped(module, dtype, split, jax.device_put(x, rows), real)
    assert (one[1][1]['metrics']['overflow'][0].total > 0) == (name == 'capacity')
    far = [np.abs(np.asarray(a, 'float32') - np.asarray(b, 'float32')).max() / max(np.abs(np.asarray(a)).max(), 1e-3)
           for a, b in zip(*map(jax.tree.leaves, (one, many)), strict=True)]
    return float(max(far))
"""

MESHES = [{'expert': 8}, {'data': 2, 'expert': 2, 'tensor': 2}, {'fsdp': 2, 'expert': 4}]
NAMES = [['token choice', 'capacity', 'bfloat16'], ['expert choice', 'loss-free', 'one expert for all']]


@pytest.mark.long
@pytest.mark.parametrize('names', NAMES, ids=', '.join)
@pytest.mark.parametrize('sizes', MESHES, ids=json.dumps)
def test_outputs_and_gradients_are_those_of_one_device(in_processes, sizes, names):
    code = CASES + f'\nprint(json.dumps({{name: differences({sizes}, name) for name in {names}}}))'
    (found,) = in_processes(code, count=1, devices=8)
    for name, difference in found.items():
        assert difference < (ROUNDED if name == 'bfloat16' else SAME_NUMBERS), name


PROGRAM = (
    CASES
    + """
from saccade.analysis.preflight.collectives import collectives
from saccade.analysis.preflight.hlo import Program
from saccade.analysis.preflight.products import product_flops

EXPERTS, ACTIVE, BIG, WIDE = 8, 2, 64, 96
module = mixture(EXPERTS, ACTIVE, CHOICE, {**GATED, 'width': WIDE})
mesh = make_mesh({'data': 2, 'expert': 4}, jax.devices())
rows = NamedSharding(mesh, ROWS)
x = jax.ShapeDtypeStruct((8, 32, BIG), 'float32', sharding=rows)
with recorded_axes():
    shapes = jax.eval_shape(lambda x: module.init(jax.random.key(0), x, False), x)
axes = declared(shapes)
params = each_leaf(shapes['params'], lambda path, leaf: jax.ShapeDtypeStruct(
    leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, spec_of(axes[path], leaf.shape, mesh))))

def loss(params, x):
    return module.apply({'params': params}, x, True).sum()

with traced_for(devices_of(mesh)):
    text = jax.jit(jax.grad(loss, (0, 1))).lower(params, x).compile().as_text()
sent = {each.kind: [each.count, each.bytes] for each in collectives(text)}
shapes = {each.shape.split('{')[0] for each, _ in Program.of(text).runs()}
of_all = [shape for shape in shapes if shape.startswith(f'f32[{EXPERTS},')]
print(json.dumps([sent, of_all, product_flops(text)]))
"""
)


@pytest.mark.long
def test_rows_go_to_the_experts_and_no_device_has_the_kernels_of_all(in_processes):
    ((sent, of_all_experts, flops),) = in_processes(PROGRAM, count=1, devices=8)
    routes, width, n, numbers = 2 * 8 * 32 // 8, 64, 4, 2 * 4  # of a device; counts of routes for two experts of four
    rows = 1.25 * routes * width
    assert sent['all-to-all'] == [5, 4 * (4 * rows + numbers) * (n - 1) // n]
    kernels = 3 * (8 // 4) * width * 96
    assert sent['all-reduce'][1] == pytest.approx(4 * kernels, rel=0.05)  # along data, of two devices
    assert of_all_experts == []
    needed = 3 * routes * 3 * 2 * width * 96 + 3 * (routes // 2) * 2 * width * 8  # of experts and of the router
    assert 1.25 <= flops / needed <= 1.25 * 1.25


BLOCKS = """
import json, os
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh
from saccade.ops.devices import Devices, traced_for
from saccade.ops.expert_parallel import serve
from saccade.ops.routing import routes_by_token

TOKENS, EXPERTS, BLOCK = 128, 8, 4
# No other axes: JAX cannot call back where some are its own.
DEVICES = Devices(Mesh(np.array(jax.devices()), ('expert',)), ('expert',), (), experts='expert')
blocks = []

def expert(own, rows, key):
    jax.debug.callback(lambda: blocks.append(len(rows)))
    return own * rows

def run(chosen):
    routes = routes_by_token(chosen[:, None], jnp.ones((TOKENS, 1)), jnp.ones(TOKENS, bool), None)
    y, _ = serve(expert, 1.0 + jnp.arange(EXPERTS), jnp.ones((TOKENS, 3)), routes, BLOCK, None)
    return y

found = []
for chosen in (jnp.arange(TOKENS) % EXPERTS, jnp.zeros(TOKENS, int)):
    blocks.clear()
    with traced_for(DEVICES):
        y = jax.jit(run)(chosen)
    jax.effects_barrier()
    np.testing.assert_array_equal(y, jnp.tile(1.0 + chosen[:, None], 3))
    assert set(blocks) == {BLOCK}
    found.append(len(blocks))
print(json.dumps(found))
"""


@pytest.mark.long
def test_a_device_runs_the_blocks_of_the_fullest_one(in_processes):
    """Even loads have one block for every four routes; where all tokens want one expert, so has each device."""
    ((even, of_one),) = in_processes(BLOCKS, count=1, devices=8)
    assert (even, of_one) == (128 // 4, 8 * 128 // 4)
