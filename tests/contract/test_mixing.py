# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for every part that moves information between tokens: mixers, with each kernel and position; blocks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from discovery import (
    SCOPE,
    B,
    D,
    Subject,
    T,
    X,
    assert_near,
    can,
    kernel_specs,
    mixing,
    multi_head,
    normal,
    rows,
    subject_of,
    sums,
    weighting_specs,
)

from saccade.build import build
from saccade.types import Scope

F32_RELATIVE = 1e-5  # of the largest element
CHUNKS = (4, 1, 4)
PADDED_LEFT = jnp.array([[1, 1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1, 1]])
TWO_DOCUMENTS = jnp.array([[1, 1, 1, 1, 2, 2, 2, 2, 0]] * B)


def numbered(segments):
    """The scope of rows whose tokens are numbered within each segment."""
    same = (segments[:, :, None] == segments[:, None, :]) & (jnp.arange(T)[:, None] > jnp.arange(T))
    return Scope(same.sum(axis=-1) * (segments != 0), segments)


@pytest.fixture(params=mixing())
def subject(request) -> Subject:
    return subject_of(request.param)


def those_that(what, can_it=True):
    """The tests' subjects are those that declare it, or that declare that they cannot."""
    names = [name for name, (given, _, _) in mixing().items() if can(given, what) == can_it]
    return pytest.mark.parametrize('subject', names, indirect=True)


@those_that('causal', False)
def test_what_cannot_be_causal_sees_every_token(subject):
    for i in range(T):
        direction = jnp.zeros_like(X).at[:, i].set(normal((D,), 1))
        _, by_x = subject.gradients(subject.params, X, direction)
        assert (np.abs(by_x).max(axis=(0, -1)) > 0).all()


@those_that('causal')
def test_causality_by_the_jacobian(subject):
    for i in range(T):
        direction = jnp.zeros_like(X).at[:, i].set(normal((D,), 1))
        _, by_x = subject.gradients(subject.params, X, direction)
        depends = np.abs(by_x).max(axis=(0, -1))
        np.testing.assert_array_equal(depends[i + 1 :], 0.0)
        assert (depends[: i + 1] > 0).all() or not rows(subject.spec).dense
        assert depends[: i + 1].max() > 0


@those_that('packed')
def test_padding_is_not_read(subject):
    scope = numbered(PADDED_LEFT)
    before = subject.jitted(subject.params, X, scope)
    after = subject.jitted(subject.params, jnp.where(PADDED_LEFT[..., None] == 0, 100.0 + X, X), scope)
    np.testing.assert_array_equal(before[PADDED_LEFT != 0], after[PADDED_LEFT != 0])


@those_that('packed')
def test_documents_packed_into_a_row_are_as_if_alone(subject):
    packed = subject.jitted(subject.params, X, numbered(TWO_DOCUMENTS))
    for row in range(B):
        documents = X[row, :8].reshape(2, 4, D)
        alone = subject.jitted(subject.params, documents, Scope(SCOPE.positions[:, :4]))
        assert_near(packed[row, :8].reshape(2, 4, D), alone, F32_RELATIVE)


@those_that('cached')
def test_steps_replay_the_whole(subject):
    scope = numbered(PADDED_LEFT)
    whole = subject.jitted(subject.params, X, scope)
    step = jax.jit(lambda *chunk: subject.module.apply(subject.params, *chunk, method='step'))
    state = subject.module.apply(subject.params, X[:, :1], T + 2, method='init_state')
    parts, start = [], 0
    for count in CHUNKS:
        here = slice(start, start + count)
        part, state = step(X[:, here], Scope(scope.positions[:, here], scope.segments[:, here]), state)
        parts.append(part)
        start += count
    real = PADDED_LEFT != 0
    assert_near(jnp.concatenate(parts, axis=1)[real], whole[real], F32_RELATIVE)


@those_that('cached')
def test_the_batch_is_the_first_axis_of_every_leaf_of_the_state(subject):
    state = jax.eval_shape(lambda: subject.module.apply(subject.params, X[:, :1], T, method='init_state'))
    assert jax.tree.leaves(state) != []
    assert {leaf.shape[0] for leaf in jax.tree.leaves(state)} == {B}


@those_that('cached')
def test_the_state_is_in_the_dtype_of_the_tokens_unless_it_adds_them_up(subject):
    low = X[:, :1].astype(jnp.bfloat16)
    state = jax.eval_shape(lambda: subject.module.apply(subject.params, low, T, method='init_state'))
    floats = {leaf.dtype for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating)}
    assert floats == {jnp.dtype(jnp.float32 if sums(subject.spec) else jnp.bfloat16)}


@those_that('cached')
def test_no_two_leaves_of_a_fresh_state_share_a_buffer(subject):
    state = subject.module.apply(subject.params, X[:, :1], T, method='init_state')
    leaves = jax.tree.leaves(state)
    assert len({leaf.unsafe_buffer_pointer() for leaf in leaves}) == len(leaves)


KERNELS = {**kernel_specs(), **weighting_specs()}


@pytest.mark.parametrize('name', KERNELS)
def test_returned_weights_sum_to_what_is_declared(name):
    kernel = KERNELS[name]
    module, declared = build(multi_head(kernel))(), rows(kernel)
    params = subject_of(f'MultiHead, {name}').params
    y, returned = module.apply(params, X, SCOPE, False, mutable=['weights'])
    weights = jax.tree.leaves(returned)
    assert bool(weights) == build(kernel)().can.weights
    for leaf in weights:
        assert leaf.shape == (B, 4, T, T)
        sums = leaf.sum(axis=-1)
        assert_near(sums, np.clip(sums, declared.least, declared.most), F32_RELATIVE)
        np.testing.assert_array_equal(np.triu(leaf, 1), 0.0)
    assert_near(y, module.apply(params, X, SCOPE, False), F32_RELATIVE)
