# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The public API: `import saccade` imports nothing more, and its modules serve in anybody's model."""

import inspect
import pydoc
import subprocess
import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from flax.nnx import bridge

import saccade
from saccade.attention.multi_head import MultiHead
from saccade.build import build
from saccade.parts import parts_in
from saccade.types import LayerContext, Source, UserError

B, T, D = 2, 6, 16
X = jax.random.normal(jax.random.key(0), (B, T, D))
HEAVY = ('jax', 'flax', 'numpy', 'tensorflow_datasets', 'matplotlib', 'orbax', 'tokenizers')
SPEC = {
    'use': 'attention.multi_head:MultiHead',
    'heads': 4,
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': {'use': 'ops.mask:Full'},
    'position': {'use': 'position.none:NoPosition'},
}


def shapes(variables):
    return jax.tree.map(jnp.shape, variables['params'])


def test_importing_it_imports_nothing_heavy():
    program = f'import sys, saccade; dir(saccade); print(*[name for name in {HEAVY} if name in sys.modules])'
    assert subprocess.run([sys.executable, '-c', program], capture_output=True, text=True).stdout == '\n'


def test_its_names_are_those_of_parts_and_rooms_and_no_two_are_one():
    names = dir(saccade)
    assert {'MultiHead', 'Plain', 'PreNorm', 'Decoder', 'Recurrent', 'norm', 'mask', 'load', 'part_of'} <= {*names}
    assert not [name for name in names if name.startswith('_') or name.endswith('Base')]
    packages = ('attention', 'recurrent.mixer', 'block', 'model')
    flat = [part.partition(':')[2] for package in packages for part in parts_in(package)]
    assert len(flat) == len({*flat}) > 60
    assert {*flat} <= {*names}
    for name in names:
        assert getattr(saccade, name) is not None
    with pytest.raises(AttributeError, match="module 'saccade' has no attribute 'Multihead'"):
        _ = saccade.Multihead
    with pytest.raises(AttributeError, match=r"module 'saccade\.norm' has no attribute 'Nothing'"):
        _ = saccade.norm.Nothing


@pytest.mark.parametrize(
    ('room', 'name', 'meant'),
    [
        (saccade, 'MultiHaed', 'MultiHead'),
        (saccade, 'laod', 'load'),
        (saccade, 'GQA', 'MultiHead'),
        (saccade, 'norms', 'norm'),
        (saccade.norm, 'RmsNorm', 'RMSNorm'),
    ],
)
def test_a_wrong_name_names_the_nearest(room, name, meant):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; did you mean '{meant}'"):
        getattr(room, name)


def test_its_names_are_the_classes():
    assert saccade.MultiHead is MultiHead
    assert isinstance(saccade.MultiHead(heads=4), MultiHead)
    assert 'Multi-head self-attention' in pydoc.render_doc(saccade.MultiHead)
    assert 'key_value_heads' in str(inspect.signature(saccade.MultiHead))


@pytest.mark.long
def test_a_module_is_that_of_the_config_and_needs_no_context():
    own, ours = saccade.MultiHead(heads=4), build(SPEC)()
    context = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)))
    variables = ours.init(jax.random.key(1), X, context, False)
    assert {**own.init(jax.random.key(1), X)}.keys() == {'params'}
    assert shapes(own.init(jax.random.key(1), X)) == shapes(variables)
    np.testing.assert_array_equal(own.apply(variables, X), ours.apply(variables, X, context, False))
    np.testing.assert_array_equal(own.apply(variables, X, context, False), ours.apply(variables, X, context, False))


@pytest.mark.long
def test_parts_are_given_as_modules_masks_and_functions():
    block = saccade.PreNorm(
        mixer=saccade.MultiHead(heads=2, mask=saccade.mask.Causal(), position=saccade.position.Rotary()),
        feedforward=saccade.feedforward.MLP(activation=jax.nn.relu, ratio=2.0),
        norm=saccade.norm.RMSNorm(),
    )
    variables = block.init(jax.random.key(0), X)
    later = X.at[:, -1].add(1.0)
    y, moved = (np.asarray(block.apply(variables, x)) for x in (X, later))
    np.testing.assert_array_equal(y[:, :-1], moved[:, :-1])
    assert shapes(variables)['feedforward']['up'] == (D, 2 * D)


@pytest.mark.long
def test_a_decoder_of_modules_has_weights_of_its_own_in_each_layer():
    model = saccade.Decoder(
        vocabulary=11,
        context_length=T,
        width=D,
        layers=3,
        block=saccade.PreNorm(mixer=saccade.MultiHead(heads=2, mask=saccade.mask.Causal())),
    )
    tokens = jnp.zeros((B, T), jnp.int32)
    params = model.init(jax.random.key(0), tokens)['params']
    query = params['layers']['pattern_0']['mixer']['query']
    assert query.shape == (3, D, 2, D // 2)
    assert not np.array_equal(query[0], query[1])
    assert model.apply({'params': params}, tokens).shape == (B, T, 11)


class Mine(nn.Module):
    """A Linen model of somebody else's."""

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(D)(x)
        return x + saccade.MultiHead(heads=4, name='attention')(saccade.norm.RMSNorm()(x))


@pytest.mark.long
def test_it_stands_in_anybodys_model():
    params = Mine().init(jax.random.key(0), X)['params']
    assert {*params} == {'Dense_0', 'RMSNorm_0', 'attention'}


def test_it_stands_in_a_model_of_nnx():
    module = bridge.ToNNX(saccade.MultiHead(heads=4), rngs=nnx.Rngs(0))
    module.lazy_init(X)
    assert module(X).shape == X.shape


def test_its_input_may_be_given_by_name():
    own = saccade.MultiHead(heads=4)
    variables = own.init(jax.random.key(1), x=X)
    np.testing.assert_array_equal(own.apply(variables, x=X), own.apply(variables, X))


def test_a_wrong_field_names_the_nearest():
    with pytest.raises(UserError, match=r"has no field 'head'.*heads"):
        saccade.MultiHead(head=4)
    with pytest.raises(UserError, match='heads: missing'):
        saccade.MultiHead()


def test_the_part_of_a_spec_is_that_of_a_config():
    assert saccade.part_of(SPEC) == build(SPEC)


def test_an_array_as_if_for_cross_attention_is_refused_with_the_way():
    x, y = jnp.ones((2, 3, 8)), jnp.ones((2, 5, 8))
    layer = saccade.MultiHead(heads=4)
    with pytest.raises(UserError, match=r'saccade\.MultiHead: context must be a LayerContext .*, source=Source\(y,'):
        layer.init(jax.random.key(0), x, y)
    places = [jnp.broadcast_to(jnp.arange(each.shape[1]), each.shape[:2]) for each in (x, y)]
    context = LayerContext(places[0], source=Source(y, places[1]))
    assert layer.apply(layer.init(jax.random.key(0), x, context), x, context).shape == x.shape
