# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What blocks are known for, and what each of them is in its special cases."""

import functools
import importlib
import pkgutil
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_branches import TOYS

import saccade.block
from saccade.block.base import BlockBase, ResidualStreams, SequentialBlock
from saccade.block.deep_norm import DeepNorm
from saccade.block.hyper_connections import HyperConnections
from saccade.block.layer_scale import LayerScale
from saccade.block.macaron import Macaron
from saccade.block.manifold_hyper_connections import ManifoldHyperConnections, doubly_stochastic
from saccade.block.no_residual import NoResidual
from saccade.block.parallel import Parallel
from saccade.block.post_norm import PostNorm
from saccade.block.pre_norm import PreNorm
from saccade.block.res_dual import ResDual
from saccade.block.rezero import ReZero
from saccade.block.sandwich import Sandwich
from saccade.norm.none import NoNorm
from saccade.types import LayerContext, Part, UserError

NEAR = 1e-5  # of the largest element
B, T, D = 2, 3, 4
X = jnp.array(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
CONTEXT = LayerContext(jnp.tile(jnp.arange(T), (B, 1)))
KEY = jax.random.key(0)


def found() -> dict[str, type[BlockBase]]:
    """Every block there is."""
    names = (module.name for module in pkgutil.iter_modules(saccade.block.__path__) if module.name != 'base')
    modules = [importlib.import_module(f'saccade.block.{name}') for name in names]
    parts = [part for module in modules for part in vars(module).values() if isinstance(part, type)]
    return {
        part.__name__: part
        for part in parts
        if issubclass(part, BlockBase) and part not in (BlockBase, SequentialBlock, ResidualStreams)
    }


def toy(block: type[BlockBase], **fields: Any) -> BlockBase:
    return block(**{**TOYS, **getattr(block, 'example', {}), **fields})


def drawn(params: Any) -> Any:
    random = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), leaf.dtype), params)


def apply(block: BlockBase, params: Any, x: jax.Array = X) -> jax.Array:
    return block.apply(params, x, CONTEXT, False)


def assert_near(given: jax.Array, expected: jax.Array) -> None:
    np.testing.assert_allclose(given, expected, rtol=0, atol=NEAR * np.abs(expected).max())


@functools.cache
def silent(name: str) -> tuple[BlockBase, Any]:
    """A block whose branches return zero."""
    block = toy(found()[name])
    params = jax.tree.map(jnp.asarray, block.init(KEY, X, CONTEXT, False, mutable=['params']))
    zero = {'output', 'down'}
    return block, jax.tree_util.tree_map_with_path(
        lambda path, leaf: jnp.zeros_like(leaf) if path[-1].key in zero else leaf, params
    )


@pytest.mark.long
@pytest.mark.parametrize('name', found())
def test_silent_branches_make_the_identity_where_a_block_declares_it(name):
    block, params = silent(name)
    assert bool((apply(block, params) == X).all()) == block.identity


@pytest.mark.long
@pytest.mark.parametrize('name', found())
def test_the_skip_connection_puts_the_identity_into_the_jacobian(name):
    """d y / d x = 1 + d branch / d x, so that with silent branches it is 1."""
    assert bool((jacobian(*silent(name)) == np.eye(X.size)).all()) == found()[name].identity


@pytest.mark.long
def test_without_a_skip_connection_no_gradient_passes_silent_branches():
    assert not jacobian(*silent(NoResidual.__name__)).any()


def jacobian(block: BlockBase, params: Any) -> jax.Array:
    return jax.jacrev(lambda x: apply(block, params, x))(X).reshape(X.size, X.size)


def test_post_norm_is_deep_norm_with_nothing_scaled():
    params = drawn(toy(PostNorm).init(KEY, X, CONTEXT, False))
    np.testing.assert_array_equal(apply(toy(DeepNorm, alpha=1.0, beta=1.0), params), apply(toy(PostNorm), params))


def test_pre_norm_is_a_sandwich_without_outer_norms():
    params = drawn(toy(PreNorm).init(KEY, X, CONTEXT, False))
    np.testing.assert_array_equal(apply(toy(Sandwich, output_norm=Part(NoNorm)), params), apply(toy(PreNorm), params))


@pytest.mark.parametrize('start', [1.0, 0.25])
def test_a_constant_layer_scale_is_a_scaled_pre_norm(start):
    plain = drawn(toy(PreNorm).init(KEY, X, CONTEXT, False))
    fresh = toy(LayerScale, start=start).init(KEY, X, CONTEXT, False)
    params = {'params': {**fresh['params'], **plain['params']}}
    assert_near(apply(toy(LayerScale, start=start), params), apply(toy(PreNorm, branch_scale=start), plain))


@pytest.mark.parametrize('shared', [True, False])
def test_rezero_starts_as_the_identity_whose_number_alone_has_a_gradient(shared):
    block = toy(ReZero, shared=shared)
    params = block.init(KEY, X, CONTEXT, False)
    np.testing.assert_array_equal(apply(block, params), X)
    gradients = jax.grad(lambda params: (X * apply(block, params)).sum())(params)['params']
    live = {path[-1].key for path, leaf in jax.tree_util.tree_leaves_with_path(gradients) if leaf.any()}
    assert live == ({'branch_scale'} if shared else {'mixer_scale', 'feedforward_scale'})


@pytest.mark.parametrize('shared_norm', [True, False])
def test_parallel_branches_do_not_see_each_other(shared_norm):
    """What the block adds with both branches is what it adds with the one and with the other."""
    block = toy(Parallel, shared_norm=shared_norm)
    params = drawn(block.init(KEY, X, CONTEXT, False))
    alone = [
        apply(block, {'params': {**params['params'], name: jax.tree.map(jnp.zeros_like, params['params'][name])}}) - X
        for name in ('mixer', 'feedforward')
    ]
    assert_near(apply(block, params), X + sum(alone))


def test_macaron_without_its_first_half_step_is_pre_norm_with_half_of_the_second():
    params = drawn(toy(Macaron).init(KEY, X, CONTEXT, False))['params']
    params['first_feedforward']['down'] *= 0.0
    mixed = {**params, 'feedforward': {'down': jnp.zeros((D, D))}}
    h = apply(toy(PreNorm), {'params': {name: mixed[name] for name in toy_names(PreNorm)}})
    silent_mixer = {**params, 'mixer': {'output': jnp.zeros((D, D))}}
    y = apply(toy(PreNorm), {'params': {name: silent_mixer[name] for name in toy_names(PreNorm)}}, h)
    assert_near(apply(toy(Macaron), {'params': params}), (h + y) / 2)


def toy_names(block: type[BlockBase]) -> set[str]:
    return {*toy(block).init(KEY, X, CONTEXT, False)['params']}


@pytest.mark.long
@pytest.mark.parametrize('dynamic', [True, False])
@pytest.mark.parametrize('streams', [1, 3])
def test_hyper_connections_start_as_pre_norm(streams, dynamic):
    """One stream is pre-norm; copies of it stay copies, and come to as many times pre-norm."""
    block = toy(HyperConnections, streams=streams, dynamic=dynamic)
    plain = drawn(toy(PreNorm).init(KEY, X, CONTEXT, False))
    fresh = block.init(KEY, block.expand(X), CONTEXT, False)
    params = {'params': {**fresh['params'], **plain['params']}}
    after = apply(block, params, block.expand(X))
    expected = apply(toy(PreNorm), plain)
    assert_near(after, jnp.tile(expected, streams))
    assert_near(block.reduce(after), streams * expected)


def test_hyper_connections_read_different_streams_in_different_layers():
    block = toy(HyperConnections, streams=4, dynamic=False)
    firsts = {
        int(
            block.init(jax.random.key(seed), block.expand(X), CONTEXT, False)['params'][name]['read_bias'][
                :, 0
            ].argmax()
        )
        for seed in range(8)
        for name in ('mixer_connection', 'feedforward_connection')
    }
    assert firsts == {0, 1, 2, 3}


@pytest.mark.long
@pytest.mark.parametrize('dynamic', [True, False])
def test_manifold_hyper_connections_without_dynamic_changes_are_pre_norm_in_every_stream(dynamic):
    block = toy(ManifoldHyperConnections, streams=3, dynamic=dynamic)
    plain = drawn(toy(PreNorm).init(KEY, X, CONTEXT, False))
    fresh = block.init(KEY, block.expand(X), CONTEXT, False)
    still = jax.tree_util.tree_map_with_path(
        lambda path, leaf: jnp.zeros_like(leaf) if path[-1].key.endswith('_scale') else leaf, fresh['params']
    )
    after = apply(block, {'params': {**still, **plain['params']}}, block.expand(X))
    expected = apply(toy(PreNorm), plain)
    assert_near(after, jnp.tile(expected, 3))
    assert_near(block.reduce(after), 3 * expected)


@pytest.mark.parametrize('scale', [1.0, 10.0])
def test_rows_and_columns_of_what_mixes_streams_sum_to_one(scale):
    logits = scale * jnp.array(np.random.default_rng(0).normal(size=(5, 4, 4)), jnp.float32)
    weights = doubly_stochastic(logits, 200)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=NEAR)
    np.testing.assert_allclose(weights.sum(axis=-2), 1.0, atol=0.02)


def test_one_stream_has_nothing_to_mix():
    with pytest.raises(UserError, match='streams must be at least 2, not 1'):
        toy(ManifoldHyperConnections, streams=1).init(KEY, X, CONTEXT, False)


def test_two_streams_are_post_norm_beside_the_sum_of_what_was_added():
    block = toy(ResDual)
    params = drawn(block.init(KEY, block.expand(X), CONTEXT, False))
    y, total = np.split(np.asarray(apply(block, params, block.expand(X))), 2, axis=-1)
    assert_near(y, apply(toy(PostNorm), params))
    scale = jnp.array([2.0, -1.0, 0.5, 3.0])
    left = block.apply(
        {'params': {'sum_norm': {'scale': scale}}}, jnp.concatenate((y, total), axis=-1), method='reduce'
    )
    assert_near(left, y + scale * total / (1.0 + np.abs(total)))


def test_deep_norm_lightens_the_kernels_it_names_and_no_other():
    light, plain = (toy(DeepNorm, beta=beta).init(KEY, X, CONTEXT, False)['params'] for beta in (0.25, 1.0))
    np.testing.assert_array_equal(light['mixer']['output'], 0.25 * plain['mixer']['output'])
    np.testing.assert_array_equal(light['feedforward']['down'], 0.25 * plain['feedforward']['down'])
    np.testing.assert_array_equal(light['mixer_norm']['scale'], plain['mixer_norm']['scale'])
    named = toy(DeepNorm, beta=0.25, scaled=('output', 'down', 'scale')).init(KEY, X, CONTEXT, False)['params']
    np.testing.assert_array_equal(named['mixer']['output'], light['mixer']['output'])
    np.testing.assert_array_equal(named['mixer_norm']['scale'], plain['mixer_norm']['scale'])


def test_deep_norm_says_which_branch_has_none_of_the_kernels_it_names():
    with pytest.raises(UserError, match=r'mixer has no parameter named down, but output'):
        toy(DeepNorm, scaled=('down',)).init(KEY, X, CONTEXT, False)
