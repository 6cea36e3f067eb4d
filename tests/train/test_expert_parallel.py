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
from saccade.axes import declared
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
        losses = sum(leaf.sum() for leaf in jax.tree.leaves(reported.get('losses')))
        return (y.astype(jnp.float32) * jnp.sin(jnp.arange(y.size)).reshape(y.shape)).sum() + losses, (y, reported)

    return jax.jit(jax.grad(loss, (0, 1), has_aux=True))(params, x)

def differences(sizes, name):
    module, x, real = CASES[name]
    mesh, dtype = make_mesh(sizes, jax.devices()), 'bfloat16' if name == 'bfloat16' else 'float32'
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
    assert (one[1][1]['metrics']['overflow'][0] > 0) == (name == 'capacity')
    far = [np.abs(np.asarray(a, 'float32') - np.asarray(b, 'float32')).max() / max(np.abs(np.asarray(a)).max(), 1e-3)
           for a, b in zip(*map(jax.tree.leaves, (one, many)), strict=True)]
    return float(max(far))
"""

MESHES = [{'expert': 8}, {'data': 2, 'expert': 2, 'tensor': 2}, {'fsdp': 2, 'expert': 4}]


@pytest.mark.long
@pytest.mark.parametrize('sizes', MESHES, ids=json.dumps)
def test_outputs_and_gradients_are_those_of_one_device(in_processes, sizes):
    code = CASES + f'\nprint(json.dumps({{name: differences({sizes}, name) for name in CASES}}))'
    ((found),) = in_processes(code, count=1, devices=8)
    assert found.pop('bfloat16') < ROUNDED
    assert max(found.values()) < SAME_NUMBERS, found
