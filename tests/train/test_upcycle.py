# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Weights of multi-head attention become those of grouped-query attention."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.axes import declared, recorded_axes
from saccade.build import build
from saccade.train.init.upcycle import grouped
from saccade.train.start import Wanted
from saccade.types import LayerContext

F32_RELATIVE = 1e-5  # of the largest element
B, T, D, N, H, L = 2, 5, 16, 4, 4, 3
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))


def mixer(heads):
    return build(
        {
            'use': 'attention.multi_head:MultiHead',
            'heads': N,
            'key_value_heads': heads,
            'kernel': {'use': 'attention.plain:Plain'},
            'mask': {'use': 'ops.mask:Causal'},
            'position': {'use': 'position.rotary:Rotary'},
            'bias': True,
        }
    )()


def wanted(heads):
    with recorded_axes():
        made = jax.eval_shape(lambda: mixer(heads).init(jax.random.key(0), X, CONTEXT, False))
    axes = declared(made)
    return {name: Wanted(leaf.shape, axes[name]) for name, leaf in made['params'].items()}


def drawn(heads):
    random = np.random.default_rng(1)
    return {name: random.normal(size=place.shape).astype(np.float32) for name, place in wanted(heads).items()}


def test_each_head_is_the_mean_of_its_group_in_every_layer():
    layers = {name: np.stack([leaf, 2 * leaf, 3 * leaf]) for name, leaf in drawn(N).items()}
    places = {f'mixer/{name}': Wanted((L, *place.shape), f'L {place.axes}') for name, place in wanted(2).items()}
    found = grouped({'mixer': layers}, places)['mixer']
    assert {f'mixer/{name}': leaf.shape for name, leaf in found.items()} == {
        path: place.shape for path, place in places.items()
    }
    for name in ('key', 'value', 'key_bias', 'value_bias'):
        for layer, head in np.ndindex(L, 2):
            mean = (layers[name][layer, ..., 2 * head, :] + layers[name][layer, ..., 2 * head + 1, :]) / 2
            np.testing.assert_allclose(found[name][layer, ..., head, :], mean, rtol=F32_RELATIVE)
    for name in ('query', 'query_bias', 'output'):
        assert found[name] is layers[name]


def test_as_many_heads_stay_bit_for_bit_and_what_cannot_fit_stays_too():
    params = drawn(N)
    for places in (wanted(N), {'key': Wanted((D, 3, H), 'D -> K H')}, {'key': Wanted((D, 2, H), None)}, {}):
        assert all(leaf is params[name] for name, leaf in grouped(params, places).items())


def test_any_axis_of_key_heads_is_averaged_whatever_the_name():
    memory = np.random.default_rng(1).normal(size=(3, N, H)).astype(np.float32)
    found = grouped({'memory_key': memory}, {'memory_key': Wanted((3, 1, H), 'M K H')})['memory_key']
    np.testing.assert_allclose(found[:, 0], memory.mean(axis=1), rtol=F32_RELATIVE, atol=F32_RELATIVE)


@pytest.mark.long
def test_heads_that_are_equal_within_a_group_say_the_same():
    params = drawn(N)
    for name in ('key', 'value', 'key_bias', 'value_bias'):
        params[name] = np.repeat(params[name][..., ::2, :], 2, axis=-2)
    before, after = (
        mixer(heads).apply({'params': jax.tree.map(jnp.asarray, grouped(params, wanted(heads)))}, X, CONTEXT, False)
        for heads in (N, 2)
    )
    np.testing.assert_allclose(after, before, rtol=0, atol=F32_RELATIVE * np.abs(before).max())
