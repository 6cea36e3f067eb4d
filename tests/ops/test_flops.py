# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The counts of small programs against their arithmetic."""

import functools

import jax
import jax.numpy as jnp
import pytest
from counted import count_primitive
from jax.experimental import pallas as pl
from jax.sharding import AbstractMesh, AxisType, PartitionSpec

from saccade.attention.plain import Plain
from saccade.ops import blockwise, linear_attention, remat
from saccade.ops.flops import (
    counted,
    counting,
    flops,
    jaxpr_flops,
    model_flops,
    sequential_steps,
)
from saccade.ops.mask import Causal, Full
from saccade.ops.scoring import Scoring

B, D, F = 5, 8, 6
PRODUCT = 2 * B * D * D
X = jax.ShapeDtypeStruct((B, D), jnp.float32)
W = jax.ShapeDtypeStruct((D, D), jnp.float32)


def layer(x, w):
    return jnp.tanh(x @ w)


def loop(times, body=layer):
    return lambda x, w: jax.lax.scan(lambda x, _: (body(x, w), None), x, None, length=times)[0]


def while_positive(body):
    return lambda x, w: jax.lax.while_loop(lambda x: x[0, 0] > 0, lambda x: body(x, w), x)


def train(function):
    return jax.value_and_grad(lambda x, w: jnp.sum(function(x, w)), argnums=(0, 1))


def test_matmul_is_two_for_each_multiplication():
    assert flops(jnp.matmul, jnp.ones((B, D)), jnp.ones((D, F))) == 2 * B * D * F


def test_elementwise_work_is_nothing():
    assert flops(lambda x: jnp.exp(x) + x * x, X) == 0


def test_batched_contraction_over_two_axes():
    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in [(3, B, 4, 7), (4, 7, 3, F)]]
    assert flops(functools.partial(jnp.einsum, 'abij,ijaf->abf'), *shapes) == 2 * 3 * B * F * 4 * 7


def test_vmap_multiplies_by_the_batch():
    many = jax.ShapeDtypeStruct((4, B, D), jnp.float32)
    assert flops(jax.vmap(layer, in_axes=(0, None)), many, W) == 4 * PRODUCT


def test_scan_multiplies_by_its_length():
    assert flops(loop(7), X, W) == 7 * PRODUCT


def test_nested_scans_multiply():
    assert flops(loop(7, loop(3)), X, W) == 21 * PRODUCT


def test_fori_loop_between_fixed_bounds_is_counted():
    assert flops(lambda x, w: jax.lax.fori_loop(0, 7, lambda _, x: layer(x, w), x), X, W) == 7 * PRODUCT


@pytest.mark.parametrize('wrap', [lambda f: f, jax.jit])
def test_gradients_make_three_of_one(wrap):
    assert flops(train(wrap(layer)), X, W) == 3 * PRODUCT
    assert flops(train(wrap(loop(7))), X, W) == 21 * PRODUCT


def test_remat_makes_four_of_one():
    assert flops(train(jax.checkpoint(layer)), X, W) == 4 * PRODUCT


def test_remat_in_a_scan_makes_four_of_each():
    assert flops(train(loop(7, jax.checkpoint(layer))), X, W) == 28 * PRODUCT


def test_what_a_model_needs_is_counted_without_recomputation():
    function = train(loop(7, jax.checkpoint(layer)))
    assert flops(function, X, W) == 28 * PRODUCT
    assert model_flops(function, X, W) == 21 * PRODUCT


def test_loops_in_what_is_rematerialised_are_counted_once():
    function = train(jax.checkpoint(loop(7)))
    assert flops(function, X, W) == 28 * PRODUCT
    assert model_flops(function, X, W) == 21 * PRODUCT
    twice = train(jax.checkpoint(loop(7, jax.checkpoint(layer))))
    assert flops(twice, X, W) == 35 * PRODUCT
    assert model_flops(twice, X, W) == 21 * PRODUCT


@jax.custom_vjp
def recomputing(x, w):
    return jnp.tanh(x @ w)


def pull_back(saved, g):
    with remat.recomputed():
        _, pull = jax.vjp(layer, *saved)
    return pull(g)


recomputing.defvjp(lambda x, w: (recomputing(x, w), (x, w)), pull_back)


@pytest.mark.parametrize(
    ('wrap', 'times'), [(lambda f: f, 1), (jax.jit, 1), (jax.checkpoint, 1), (functools.partial(loop, 7), 7)]
)
def test_what_a_kernel_says_that_it_computes_again_is_counted_once(wrap, times):
    function = train(wrap(recomputing))
    assert flops(function, X, W) == 4 * times * PRODUCT
    assert model_flops(function, X, W) == 3 * times * PRODUCT


def test_a_program_is_traced_once_to_be_counted_unless_a_kernel_hides_its_products():
    traced = []

    def program(hides, x, w):
        traced.append(hides)
        return layer(x, w) if not hides or counting() else jnp.tanh(x)

    for hides, times in ((False, 1), (True, 2)):
        traced.clear()
        found, jaxpr = counted(lambda hides=hides: jax.jit(program, static_argnums=0).trace(hides, X, W))
        assert len(traced) == times
        assert jaxpr_flops(jaxpr) == PRODUCT
        assert jaxpr_flops(found.jaxpr) == (0 if hides else PRODUCT)


def attention_work(count, mask, attend):
    q = jax.ShapeDtypeStruct((2, 64, 3, 8), jnp.float32)
    return count(jax.grad(lambda q, k, v: attend(q, k, v, Scoring(mask)).sum(), argnums=(0, 1, 2)), q, q, q)


def by_blocks(q, k, v, scoring):
    return blockwise.attend(q, k, v, scoring, 16, 16)


def by_chunks(q, k, v, scoring):
    return Plain(query_chunks=4, parent=None).attend(q, k, v, scoring)


@pytest.mark.parametrize(('mask', 'share'), [(Full(), 1), (Causal(), 10 / 16)])
def test_a_model_needs_the_products_of_the_live_blocks_whatever_the_kernel(mask, share):
    """Two forward and four backward; the blockwise kernel makes the scores again, which is a seventh."""
    product = share * 2 * 2 * 3 * 64 * 64 * 8
    assert attention_work(model_flops, mask, by_chunks) == attention_work(flops, mask, by_chunks) == 6 * product
    assert attention_work(model_flops, mask, by_blocks) == 6 * product
    assert attention_work(flops, mask, by_blocks) > 7 * product


def test_the_memory_of_linear_attention_is_counted_once():
    x = jax.ShapeDtypeStruct((2, 64, 3, 8), jnp.float32)
    segments = jax.ShapeDtypeStruct((2, 64), jnp.int32)

    def loss(q, k, v, segments):
        log_decay, empty = jnp.zeros(k.shape[:3]), linear_attention.Memory.empty(2, 3, 8, 8)
        return linear_attention.retain(q, k, v, log_decay, segments, empty, 16)[0].sum()

    forward = flops(loss, x, x, x, segments)
    step = jax.value_and_grad(loss, argnums=(0, 1, 2))
    assert model_flops(step, x, x, x, segments) == 3 * forward
    assert flops(step, x, x, x, segments) > 3 * forward


def test_cond_counts_its_dearest_branch():
    branches = [loop(2), loop(5), loop(3)]
    assert flops(lambda i, x, w: jax.lax.switch(i, branches, x, w), 0, X, W) == 5 * PRODUCT


def test_while_is_refused_only_with_a_product_in_it():
    with pytest.raises(ValueError, match='unknown trip count'):
        flops(while_positive(layer), X, W)
    assert flops(while_positive(lambda x, w: x - 1), X, W) == 0


@jax.custom_vjp
def dear_backward(x, w):
    return x @ w


dear_backward.defvjp(
    lambda x, w: (x @ w, (x, w)),
    lambda saved, g: (g @ saved[1].T @ saved[1] @ saved[1].T, saved[0].T @ g),
)


def test_custom_vjp_counts_the_rule_that_runs():
    assert flops(dear_backward, X, W) == PRODUCT
    assert flops(train(dear_backward), X, W) == PRODUCT + 4 * PRODUCT


@jax.custom_jvp
def dear_forward(x, w):
    return x @ w @ w


dear_forward.defjvp(lambda primals, tangents: (dear_forward(*primals), tangents[0]))


def test_custom_jvp_counts_the_primal():
    assert flops(dear_forward, X, W) == 2 * PRODUCT
    assert flops(lambda x, w: jax.jvp(dear_forward, (x, w), (x, w)), X, W) == 2 * PRODUCT


@pytest.mark.parametrize(('axes', 'shards'), [({'data'}, 4), ({'data', 'tensor'}, 8)])
def test_shard_map_counts_all_its_shards(axes, shards):
    mesh = AbstractMesh((4, 2), ('data', 'tensor'), axis_types=(AxisType.Auto,) * 2)
    rows = PartitionSpec('data')
    mapped = jax.shard_map(jnp.matmul, mesh=mesh, in_specs=(rows, PartitionSpec()), out_specs=rows, axis_names=axes)
    per_shard = 2 * 2 * D * D
    assert flops(mapped, jax.ShapeDtypeStruct((8, D), jnp.float32), W) == shards * per_shard


def test_pallas_kernel_counts_once_a_grid_cell():
    def kernel(x, w, y):
        y[...] = x[...] @ w[...]

    row = pl.BlockSpec((1, D), lambda i, j: (i, 0))
    call = pl.pallas_call(
        kernel,
        grid=(B, 3),
        in_specs=[row, pl.BlockSpec((D, D), lambda i, j: (0, 0))],
        out_specs=row,
        out_shape=X,
    )
    assert flops(call, X, W) == 3 * PRODUCT


@pytest.mark.parametrize(('feature', 'batch'), [(1, 1), (2, 1), (1, 2)])
def test_convolution_is_kernel_times_output(feature, batch):
    images = jax.ShapeDtypeStruct((4, 12, 12, 6), jnp.float32)
    kernel = jax.ShapeDtypeStruct((3, 3, 6 // feature, 10), jnp.float32)
    convolve = functools.partial(
        jax.lax.conv_general_dilated,
        window_strides=(1, 1),
        padding='VALID',
        dimension_numbers=('NHWC', 'HWIO', 'NHWC'),
        feature_group_count=feature,
        batch_group_count=batch,
    )
    assert flops(convolve, images, kernel) == 2 * (4 * 10 * 10 * 10 // batch) * (3 * 3 * 6 // feature)


def test_grouped_product_meets_one_matrix_a_row():
    rows, experts = jax.ShapeDtypeStruct((9, D), jnp.float32), jax.ShapeDtypeStruct((3, D, F), jnp.float32)
    grouped = functools.partial(jax.lax.ragged_dot, group_sizes=jnp.array([2, 3, 4]))
    assert flops(grouped, rows, experts) == 2 * 9 * D * F
    assert flops(train(grouped), rows, experts) == 3 * 2 * 9 * D * F


def test_a_traced_function_counts_as_the_function():
    assert jaxpr_flops(jax.jit(train(layer)).trace(X, W).jaxpr) == 3 * PRODUCT


def test_primitives_are_counted_as_executed():
    def program(x, w):
        return jnp.sin(loop(7)(x, w) @ w)

    assert count_primitive(program, 'dot_general', X, W) == 8
    assert count_primitive(program, 'tanh', X, W) == 7
    assert count_primitive(program, 'sin', X, W) == 1
    assert count_primitive(program, 'cos', X, W) == 0


def test_branches_are_counted_as_executed():
    def either(index, x, w):
        return jax.lax.switch(index, [loop(2), loop(5)], x, w)

    assert count_primitive(either, 'dot_general', 0, X, W) == 5


def test_steps_that_follow_one_another_are_counted_through_loops_in_loops():
    assert sequential_steps(layer, X, W) == 0
    assert sequential_steps(loop(7), X, W) == 7
    assert sequential_steps(loop(3, loop(7)), X, W) == 3 + 3 * 7
