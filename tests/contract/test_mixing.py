# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for every part that moves information between tokens: mixers, with each kernel and position; blocks."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from discovery import (
    CATALOGUE,
    CONTEXT,
    HOUSE_RULES,
    B,
    D,
    Subject,
    T,
    X,
    assert_near,
    mixing,
    normal,
    positions,
    rows,
    softmaxes,
    subject_of,
    uncovered,
)

from saccade.analysis.catalogue.catalogue import KERNEL, can, in_multi_head
from saccade.build import build
from saccade.ops.term import RelativeKeys, Softcap
from saccade.recurrent.mixer.newest_base import ReadsNewest
from saccade.types import LayerContext, Source, UserError

F32_RELATIVE = 1e-5  # of the largest element
CHUNKS = (4, 1, 4)
PADDED_LEFT = jnp.array([[1, 1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1, 1]])
TWO_DOCUMENTS = jnp.array([[1, 1, 1, 1, 2, 2, 2, 2, 0]] * B)
WITHIN_CHUNKS = jnp.array([[1, 1, 1, 1, 1, 1, 2, 2, 2], [1, 1, 1, 2, 2, 2, 2, 2, 2]])  # of 4, 1 and 4 tokens
ONE_DOCUMENT = jnp.array([[1, 1, 1, 1, 0, 0, 0, 0, 0]] * B)  # of the same shape: the same program


def numbered(segments):
    """The context of rows whose tokens are numbered within each segment."""
    same = (segments[:, :, None] == segments[:, None, :]) & (jnp.arange(T)[:, None] > jnp.arange(T))
    return LayerContext(same.sum(axis=-1) * (segments != 0), segments)


@pytest.fixture(params=mixing())
def subject(request) -> Subject:
    return subject_of(request.param)


def those_that(what, can_it=True):
    """The tests' subjects are those that declare it, or that declare that they cannot."""
    names = [name for name, (given, _, _) in mixing().items() if getattr(can(given), what) == can_it]
    return pytest.mark.parametrize('subject', names, indirect=True)


@pytest.mark.long
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
        first = max(i + 1 - subject.module.size, 0) if isinstance(subject.module, ReadsNewest) else 0
        np.testing.assert_array_equal(depends[:first], 0.0)
        assert (depends[first : i + 1] > 0).all() or not rows(subject.spec).dense
        assert depends[: i + 1].max() > 0


@those_that('packed')
def test_padding_is_not_read(subject):
    context = numbered(PADDED_LEFT)
    before = subject.jitted(subject.params, X, context)
    after = subject.jitted(subject.params, jnp.where(PADDED_LEFT[..., None] == 0, 100.0 + X, X), context)
    np.testing.assert_array_equal(before[PADDED_LEFT != 0], after[PADDED_LEFT != 0])


@those_that('packed')
def test_documents_packed_into_a_row_are_as_if_alone(subject):
    packed = subject.jitted(subject.params, X, numbered(TWO_DOCUMENTS))
    for start in (0, 4):
        alone = subject.jitted(subject.params, jnp.roll(X, -start, axis=1), numbered(ONE_DOCUMENT))
        assert_near(packed[:, start : start + 4], alone[:, :4], F32_RELATIVE)


@those_that('packed')
def test_a_sequence_padded_on_the_left_is_as_if_alone(subject):
    padded = subject.jitted(subject.params, X, numbered(PADDED_LEFT))[1, 3:]
    after = jnp.roll(PADDED_LEFT, -3, axis=1)
    alone = subject.jitted(subject.params, jnp.roll(X, -3, axis=1), numbered(after))[1, : T - 3]
    assert_near(padded, alone, F32_RELATIVE)


@those_that('packed')
def test_a_sequence_of_padding_is_finite_and_changes_no_other(subject):
    some, none = (numbered(jnp.ones((B, T), int).at[0].set(first)) for first in (1, 0))
    expected, found = (subject.jitted(subject.params, X, context) for context in (some, none))
    assert np.isfinite(found).all()
    assert_near(found[1], expected[1], F32_RELATIVE)


@pytest.mark.long
@those_that('packed')
def test_one_segment_is_a_sequence_without_segments(subject):
    segments = numbered(jnp.ones((B, T), int))
    assert_near(subject.jitted(subject.params, X, segments), subject.jitted(subject.params, X, CONTEXT), F32_RELATIVE)


@pytest.mark.long
@those_that('causal')
def test_a_token_by_itself_is_the_first_of_a_sequence(subject):
    alone = subject.jitted(subject.params, X[:, :1], LayerContext(positions(B, 1)))
    assert_near(alone[:, 0], subject.jitted(subject.params, X, CONTEXT)[:, 0], F32_RELATIVE)


@pytest.mark.long
@pytest.mark.parametrize('name', [name for name, (given, _, _) in mixing().items() if 'chunk' in given])
def test_the_chunk_changes_nothing(name):
    subject = subject_of(name)
    expected = subject.jitted(subject.params, X, numbered(TWO_DOCUMENTS))
    for chunk in (1, 3, T + 1):
        module = build(subject.spec | {'chunk': chunk})()
        found = jax.jit(module.apply, static_argnums=3)(subject.params, X, numbered(TWO_DOCUMENTS), False)
        assert_near(found[:, :-1], expected[:, :-1], F32_RELATIVE)


@those_that('cached')
def test_steps_replay_the_whole(subject):
    """With padding on the left, and with documents that begin within a chunk."""
    step = jax.jit(lambda *chunk: subject.module.apply(subject.params, *chunk, method='step'))
    for segments in (PADDED_LEFT, WITHIN_CHUNKS) if can(subject.spec).packed else (PADDED_LEFT,):
        context = numbered(segments)
        whole = subject.jitted(subject.params, X, context)
        state = subject.module.apply(subject.params, X[:, :1], T + 2, method='init_state')
        parts, start = [], 0
        for count in CHUNKS:
            here = slice(start, start + count)
            part, state = step(X[:, here], LayerContext(context.positions[:, here], context.segments[:, here]), state)
            parts.append(part)
            start += count
        real = segments != 0
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
    low, high = jnp.dtype(jnp.bfloat16), jnp.dtype(jnp.float32)
    assert floats in (({high}, {low, high}) if can(subject.spec).sums else ({low},))


@those_that('cached')
def test_a_step_in_bfloat16_keeps_the_dtypes_with_float32_parameters(subject):
    low, context = X[:, :1].astype(jnp.bfloat16), LayerContext(positions(length=1), jnp.ones((B, 1), int))
    state = jax.eval_shape(lambda: subject.module.apply(subject.params, low, T, method='init_state'))
    y, after = jax.eval_shape(
        lambda state: subject.module.apply(subject.params, low, context, state, method='step'), state
    )
    assert y.dtype == jnp.bfloat16
    assert jax.tree.map(lambda leaf: leaf.dtype, after) == jax.tree.map(lambda leaf: leaf.dtype, state)


@those_that('cached')
def test_no_two_leaves_of_a_fresh_state_share_a_buffer(subject):
    state = subject.module.apply(subject.params, X[:, :1], T, method='init_state')
    leaves = jax.tree.leaves(state)
    assert len({leaf.unsafe_buffer_pointer() for leaf in leaves}) == len(leaves)


@those_that('cached')
def test_the_state_grows_with_its_capacity_as_is_declared(subject):
    def numbers(capacity):
        state = jax.eval_shape(lambda: subject.module.apply(subject.params, X[:, :1], capacity, method='init_state'))
        return sum(leaf.size for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating))

    declared = can(subject.spec).state
    if not declared and not HOUSE_RULES:
        pytest.skip('it does not declare the size of its state')
    assert declared
    parts = re.split(r' \+ (?![^(]*\))', declared)  # sums within brackets stay together
    grows = {'S' in part.split() for part in parts}
    if grows == {True, False}:
        assert numbers(96) - numbers(64) == numbers(64) - numbers(32) > 0
    else:
        assert numbers(64) == numbers(32) * 2 ** (True in grows)


@those_that('cached', False)
def test_what_cannot_decode_says_so(subject):
    with pytest.raises(UserError, match='cannot decode'):
        subject.module.apply(subject.params, X[:, :1], T, method='init_state')


@pytest.mark.parametrize('name', CATALOGUE.mixers())
def test_tokens_that_change_places_change_no_more_where_that_is_declared(name):
    given = mixing()[name][0]
    subject = subject_of(name) if uncovered(given) == given else Subject(uncovered(given), (CONTEXT,), (False,))
    order = np.random.default_rng(0).permutation(T)
    y = subject.jitted(subject.params, X, CONTEXT)[:, order]
    moved = subject.jitted(subject.params, X[:, order], CONTEXT)
    near = np.abs(moved - y).max() < F32_RELATIVE * np.abs(y).max()
    assert near == can(given).equivariant


def is_served(name, context):
    """Whether a mixer takes the context, under a full mask where it can; it refuses what it cannot serve."""
    module, params = build(uncovered(mixing()[name][0]))(), subject_of(name).params
    try:
        made = jax.eval_shape(lambda: module.apply(params, X, context, False))
    except UserError:
        return False
    return made.shape == X.shape


@pytest.mark.parametrize('name', CATALOGUE.mixers())
def test_what_a_mixer_serves_is_what_it_declares(name):
    declared = can(mixing()[name][0])
    other = Source(normal((B, 5, D), 2), positions(B, 5))
    assert is_served(name, CONTEXT.replace(source=other)) == declared.cross
    assert is_served(name, CONTEXT.replace(segments=TWO_DOCUMENTS)) == declared.packed
    assert is_served(name, CONTEXT.replace(terms=(Softcap(5.0),))) == (declared.terms or declared.softcap)
    if declared.terms:
        assert is_served(name, CONTEXT.replace(terms=(RelativeKeys(normal((3, 4))),))) == declared.content


@pytest.mark.parametrize('name', CATALOGUE.mixers() if HOUSE_RULES else [])
def test_a_mixer_declares_what_it_costs(name):
    declared = can(mixing()[name][0])
    assert declared.time
    assert declared.memory


KERNELS = {**CATALOGUE.specs(KERNEL), **softmaxes()}


@pytest.mark.long
@pytest.mark.parametrize('name', KERNELS)
def test_returned_weights_sum_to_what_is_declared(name):
    kernel = KERNELS[name]
    module, declared = build(in_multi_head(kernel))(), rows(kernel)
    params = subject_of(f'MultiHead, {name}').params
    y, returned = module.apply(params, X, CONTEXT, False, mutable=['pattern'])
    weights = jax.tree.leaves(returned)
    assert len(weights) == (kernel['use'] != 'attention.linformer:Linformer')
    for leaf in weights:
        assert leaf.shape == (B, 4, T, T)
        sums = leaf.sum(axis=-1)
        assert_near(sums, np.clip(sums, declared.least, declared.most), F32_RELATIVE)
        np.testing.assert_array_equal(np.triu(leaf, 1), 0.0)
    assert_near(y, module.apply(params, X, CONTEXT, False), F32_RELATIVE)
