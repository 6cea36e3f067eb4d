# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""CANINE: hashed characters against a loop, molecules against loops, and padding that changes nothing."""

import dataclasses

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import DictKey, tree_map_with_path

from saccade.build import build
from saccade.model.canine import Canine
from saccade.module import context_of
from saccade.types import LayerContext, UserError

WIDTH, RATE, REACH = 8, 4, 4
BLOCK = {
    'use': 'block.post_norm:PostNorm',
    'mixer': {'use': 'attention.multi_head:MultiHead', 'heads': 2},
    'feedforward': {'use': 'feedforward.mlp:MLP'},
}
SPEC = {
    'use': 'model.canine:Canine',
    'context_length': 32,
    'width': WIDTH,
    'layers': 2,
    'block': BLOCK,
    'rate': RATE,
    'reach': REACH,
    'embed': {'use': 'embed.hashed:HashedEmbedding', 'hashes': 2, 'buckets': 64},
    'position': {'use': 'position.learned:Learned', 'length': 32},
    'norm': {'use': 'norm.none:NoNorm'},
    'heads': {'each': {'use': 'head.each_token:EachToken', 'classes': 3}},
}
TOKENS = jnp.array(np.random.default_rng(1).integers(0, 1_000_000, (2, 14)))

CONTEXT = LayerContext(jnp.broadcast_to(jnp.arange(14), (2, 14)))


class Opened(Canine):
    """CANINE whose inner maps can be called."""

    @nn.compact
    def molecules(self, x, context):
        return self._molecules(x, context)

    @nn.compact
    def characters(self, molecules, x, context):
        return self._characters(molecules, x, context)


def opened():
    """A model without norms of its own, and with tanh, for the tests by loops."""
    fields = {'inner_norm': {'use': 'norm.none:NoNorm'}, 'activation': {'use': 'jax.numpy:tanh'}}
    model, variables = made(**fields)
    return Opened(
        **{field.name: getattr(model, field.name) for field in dataclasses.fields(model) if field.init}
    ), variables


def made(**changes):
    model = build({**SPEC, **changes})()
    return model, model.init(jax.random.key(0), TOKENS)


def test_an_id_is_hashed_into_each_table():
    module, width = build({'use': 'embed.hashed:HashedEmbedding', 'hashes': 4, 'buckets': 50})(), 12
    tables = np.random.default_rng(0).normal(size=(4, 50, 3)).astype(np.float32)
    found, _ = module.apply({'params': {'tables': jnp.array(tables)}}, TOKENS, CONTEXT, width, None)
    for row, column in np.ndindex(TOKENS.shape):
        code = int(TOKENS[row, column])
        expected = [tables[k, (code + 1) * prime % 50] for k, prime in enumerate((31, 43, 59, 61))]
        np.testing.assert_array_equal(found[row, column], np.concatenate(expected))


def test_hashes_that_do_not_divide_the_width_are_refused():
    module = build({'use': 'embed.hashed:HashedEmbedding', 'hashes': 3})()
    with pytest.raises(UserError, match='hashes=3 must divide the width 8'):
        module.init(jax.random.key(0), TOKENS, CONTEXT, 8, None)


@pytest.mark.long
def test_the_highest_code_point_does_not_overflow():
    module = build({'use': 'embed.hashed:HashedEmbedding', 'hashes': 16, 'buckets': 16384})()
    codes = jnp.array([[0x10FFFF]])
    found, variables = module.init_with_output(jax.random.key(0), codes, LayerContext(jnp.zeros((1, 1), int)), 16, None)
    tables = np.asarray(variables['params']['tables'])
    assert found[0][0, 0, 15] == tables[15, 0x110000 * 223 % 16384, 0]


@pytest.mark.long
def test_molecules_are_groups_of_characters_after_the_first_character():
    model, variables = opened()
    params = variables['params']
    x = jax.random.normal(jax.random.key(1), (1, 10, WIDTH))
    context = context_of(model, x, None)
    found, of_molecules = model.apply(variables, x, context, method='molecules')
    kernel, padded = np.asarray(params['molecule_kernel']), np.pad(np.asarray(x[0]), ((0, 2), (0, 0)))
    groups = [sum(padded[4 * i + j] @ kernel[j] for j in range(4)) for i in range(3)]
    np.testing.assert_allclose(found[0], [x[0, 0], *np.tanh(groups)], atol=1e-5)
    np.testing.assert_array_equal(of_molecules.positions[0], range(4))


@pytest.mark.long
def test_characters_see_their_molecule_and_their_neighbours():
    model, variables = opened()
    kernel = np.asarray(variables['params']['character_kernel'])
    x, molecules = (jax.random.normal(jax.random.key(seed), (1, size, WIDTH)) for seed, size in ((1, 10), (2, 4)))
    found = model.apply(variables, molecules, x, context_of(model, x, None), method='characters')
    both = [np.concatenate([x[0, t], molecules[0, 1 + t // RATE]]) for t in range(10)]
    for t in range(10):
        near = [(m, t + m - 1) for m in range(REACH) if 0 <= t + m - 1 < 10]
        np.testing.assert_allclose(found[0, t], np.tanh(sum(both[at] @ kernel[m] for m, at in near)), atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize('length', [1, 3, 4, 9])
def test_padding_after_a_text_changes_nothing(length):
    model, variables = made()
    segments = (jnp.arange(14) < length).astype(jnp.int32)[None]
    context = LayerContext(jnp.arange(14)[None] * segments, segments)
    padded = model.apply(variables, TOKENS[:1], context)['each'][:, :length]
    alone = model.apply(variables, TOKENS[:1, :length])['each']
    np.testing.assert_allclose(padded, alone, atol=2e-6)


@pytest.mark.long
def test_the_first_layer_is_local_and_deep_layers_reach_everywhere():
    local = {**BLOCK, 'mixer': {**BLOCK['mixer'], 'mask': {'use': 'ops.mask:Chunked', 'length': 4}}}
    model, variables = made(first=local, last=local)
    other = TOKENS.at[:, 0].set(7)
    change = jnp.abs(model.apply(variables, TOKENS)['each'] - model.apply(variables, other)['each']).max((0, 2))
    assert (change > 0).all()


@pytest.mark.long
def test_every_parameter_has_a_gradient():
    model, variables = made()
    loss = lambda params: jnp.sum(model.apply({**variables, 'params': params}, TOKENS)['each'] ** 2)  # noqa: E731
    gradient = jax.grad(loss)(variables['params'])
    silent = []
    tree_map_with_path(
        lambda path, leaf: (
            silent.append('/'.join(key.key for key in path if isinstance(key, DictKey)))
            if not jnp.abs(leaf).max() > 1e-9
            else None
        ),
        gradient,
    )
    assert [name for name in silent if not name.endswith('key_bias')] == []
