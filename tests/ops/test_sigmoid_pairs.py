# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sigmoid loss of all pairs: by its formula in NumPy, in chunks, around devices, and its gradient by autodiff."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from saccade.ops.sigmoid_pairs import sigmoid_pairs
from saccade.types import UserError

NEAR = 1e-5
ROWS, WIDTH, DEVICES = 16, 5, 8
REAL = jnp.ones(ROWS).at[jnp.array([3, 15])].set(0.0)
LINE = jnp.array(4.0), jnp.array(-2.0)


def vectors():
    return jax.random.normal(jax.random.key(0), (2, ROWS, WIDTH))


def by_formula(u, v, line):
    logits = np.asarray(line[0]) * np.asarray(u) @ np.asarray(v).T + np.asarray(line[1])
    sign = 2 * np.eye(ROWS) - 1
    return (np.log1p(np.exp(-sign * logits)) * np.asarray(REAL)).sum(axis=-1), logits


def learned(axis, chunk):
    """The loss of all rows that count and its gradients, of vectors on one device or spread over eight."""

    def loss(u, v, line, real):
        return (sigmoid_pairs(u, v, line, real, axis, chunk)[0] * real).sum()

    learn = jax.value_and_grad(loss, (0, 1, 2))
    if axis is None:
        return lambda u, v: learn(u, v, LINE, REAL)

    def spread(u, v):
        rows = (leaf.reshape(DEVICES, ROWS // DEVICES, *leaf.shape[1:]) for leaf in (u, v, REAL))
        *vectors, real = rows
        total, (of_u, of_v, line) = jax.vmap(learn, (0, 0, None, 0), axis_name=axis)(*vectors, LINE, real)
        sums = jax.tree.map(lambda leaf: leaf.sum(axis=0), line)
        return total.sum(), (of_u.reshape(u.shape), of_v.reshape(v.shape), sums)

    return spread


@pytest.mark.parametrize('chunk', [None, 1, 4, 16])
def test_it_is_the_formula_and_the_largest_logit_is_of_another_row(chunk):
    u, v = vectors()
    losses, best = sigmoid_pairs(u, v, LINE, REAL, None, chunk)
    expected, logits = by_formula(u, v, LINE)
    np.testing.assert_allclose(losses, expected, rtol=NEAR)
    others = np.where(np.eye(ROWS, dtype=bool) | (np.asarray(REAL) == 0), -np.inf, logits)
    np.testing.assert_allclose(best, others.max(axis=-1), rtol=NEAR)


@pytest.mark.parametrize(('axis', 'chunk'), [(None, None), (None, 4), ('devices', None), ('devices', 1)])
def test_loss_and_gradients_are_those_of_the_formula_on_one_device_and_around_eight(axis, chunk):
    u, v = vectors()

    def plain(u, v, line):
        logits = line[0] * u @ v.T + line[1]
        pairs = jax.nn.softplus((1 - 2 * jnp.eye(ROWS)) * logits) * REAL
        return (pairs.sum(axis=-1) * REAL).sum()

    loss, gradients = learned(axis, chunk)(u, v)
    wanted, expected = jax.value_and_grad(plain, (0, 1, 2))(u, v, LINE)
    np.testing.assert_allclose(loss, wanted, rtol=NEAR)
    for found, right in zip(jax.tree.leaves(gradients), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=NEAR)


def test_nothing_grows_with_the_devices_at_so_many_rows_on_each():
    def shapes(devices):
        def loss(u, v):
            return sigmoid_pairs(u, v, LINE, jnp.ones(4), 'devices', 2)[0].sum()

        mesh = AbstractMesh((devices,), ('devices',), axis_types=(AxisType.Auto,))
        rows = jnp.zeros((4 * devices, WIDTH))
        spread = jax.shard_map(
            jax.grad(loss, (0, 1)), mesh=mesh, in_specs=P('devices'), out_specs=P('devices'), check_vma=False
        )
        (equation,) = jax.make_jaxpr(spread)(rows, rows).eqns
        return sorted(str(each.aval) for each in made(equation.params['jaxpr']))

    assert shapes(2) == shapes(8)
    assert len(shapes(2)) > 20


def made(jaxpr):
    """The variables that a jaxpr and those within it make."""
    for equation in jaxpr.eqns:
        yield from equation.outvars
        for inner in jaxprs_in_params(equation.params):
            yield from made(inner)


def test_a_chunk_that_does_not_divide_is_refused():
    with pytest.raises(UserError, match=r'task\.chunk: 3 does not divide the 16 rows'):
        sigmoid_pairs(*vectors(), LINE, REAL, None, 3)
