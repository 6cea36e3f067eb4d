# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for every part that moves information between tokens: mixers, with each kernel and position; blocks.

What holds for the layers of any library is in `conformance.contracts`; the rest is here.
"""

import functools
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

from conformance import contracts
from conformance.libraries.saccade import Mixer
from saccade.analysis.catalogue.catalogue import KERNEL, can, in_multi_head
from saccade.attention.cache import Cache, in_int8, rewrites
from saccade.build import build
from saccade.ops.term import RelativeKeys, Softcap
from saccade.recurrent.mixer.newest_base import ReadsNewest
from saccade.types import LayerContext, Source, UserError

F32_RELATIVE = 1e-5  # of the largest element
TOKENS = np.asarray(X)
CHUNKS = (4, 1, 4)
TWO_DOCUMENTS = jnp.array([[1, 1, 1, 1, 2, 2, 2, 2, 0]] * B)


@pytest.fixture(params=mixing())
def subject(request) -> Subject:
    return subject_of(request.param)


def names_that(what, can_it=True):
    """Names of the parts that declare it, or that declare that they cannot."""
    return [name for name, (given, _, _) in mixing().items() if getattr(can(given), what) == can_it]


def those_that(what, can_it=True):
    return pytest.mark.parametrize('subject', names_that(what, can_it), indirect=True)


def on_request(*contracts):
    """Contracts of which the quick tests hold a neighbour, so that all of them are long."""
    return [pytest.param(contract, marks=pytest.mark.long) for contract in contracts]


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


@functools.cache
def layer_of(name):
    """The subject of that name as a layer of conformance, which pads each document to the shape of all: one program."""
    subject = subject_of(name)
    return Mixer(subject.spec, subject.params, (B, T))


def measured(name, contract):
    """Return the difference that a contract measures on a part."""
    return contracts.CONTRACTS[contract].measure(layer_of(name), TOKENS)


@pytest.mark.parametrize('name', names_that('packed'))
@pytest.mark.parametrize('contract', ['packed_values', *on_request('left_padding', 'right_padding', 'padding_alone')])
def test_documents_and_padding(name, contract):
    assert measured(name, contract) <= contracts.FLOAT32


@pytest.mark.parametrize('name', names_that('packed'))
def test_padding_is_not_read(name):
    assert measured(name, 'padding_not_read') == 0.0


@pytest.mark.long
@pytest.mark.parametrize('name', names_that('packed'))
@pytest.mark.parametrize('contract', ['packed_gradients', 'padding_gradients'])
def test_gradients_of_documents_and_padding(name, contract):
    assert measured(name, contract) <= contracts.GRADIENTS


@pytest.mark.long
@those_that('packed')
def test_one_segment_is_a_sequence_without_segments(subject):
    context = CONTEXT.replace(segments=jnp.ones((B, T), int))
    assert_near(subject.jitted(subject.params, X, context), subject.jitted(subject.params, X, CONTEXT), F32_RELATIVE)


@pytest.mark.long
@pytest.mark.parametrize('name', names_that('causal'))
@pytest.mark.parametrize('contract', ['causal', 'one_token', 'lengths', 'one_row'])
def test_the_start_of_a_sequence_and_a_row_by_themselves(name, contract):
    assert measured(name, contract) <= contracts.FLOAT32


@pytest.mark.long
@pytest.mark.parametrize('name', [name for name, (given, _, _) in mixing().items() if 'chunk' in given])
def test_the_chunk_changes_nothing(name):
    assert measured(name, 'chunk_size') <= contracts.FLOAT32


@pytest.mark.parametrize('name', names_that('cached'))
@pytest.mark.parametrize('contract', ['decoding_packed', *on_request('steps', 'chunks', 'prompt', 'decoding_padded')])
def test_steps_replay_the_whole(name, contract):
    assert measured(name, contract) <= contracts.FLOAT32


@pytest.mark.long
@pytest.mark.parametrize('name', names_that('cached'))
def test_chunks_replay_a_sequence_padded_on_the_left(name):
    segments = contracts.padded_left(TOKENS)
    assert contracts.decoded(layer_of(name), TOKENS, CHUNKS, segments) <= contracts.FLOAT32


@pytest.mark.long
@those_that('cached')
def test_a_kv_cache_in_int8_changes_little(subject):
    apply = functools.partial(subject.module.apply, subject.params)
    exact = apply(X[:, :1], T, method='init_state')
    nodes = jax.tree.leaves(exact, is_leaf=lambda node: isinstance(node, Cache) or rewrites(node))
    if not any(isinstance(node, Cache) for node in nodes):
        with pytest.raises(UserError, match='no KV cache'):
            in_int8(exact)
        return
    rounded = in_int8(exact)
    for start, stop in ((0, 4), *((place, place + 1) for place in range(4, T))):
        places = jnp.broadcast_to(jnp.arange(start, stop), (B, stop - start))
        chunk, context = X[:, start:stop], LayerContext(places, jnp.ones_like(places))
        wanted, exact = apply(chunk, context, exact, method='step')
        found, rounded = apply(chunk, context, rounded, method='step')
        assert jax.tree.structure(in_int8(exact)) == jax.tree.structure(rounded)
        assert np.isfinite(found).all()
        if rows(subject.spec).continuous:
            assert np.abs(found - wanted).max() <= 0.1 * np.abs(wanted).max()


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
    different = len({leaf.unsafe_buffer_pointer() for leaf in leaves})
    assert different == len(leaves), 'two leaves are one array: make each by a call of its own'


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
    for field, context, served in (
        ('cross', CONTEXT.replace(source=other), declared.cross),
        ('packed', CONTEXT.replace(segments=TWO_DOCUMENTS), declared.packed),
        ('terms', CONTEXT.replace(terms=(Softcap(5.0),)), declared.terms or declared.softcap),
    ):
        remedy = 'compute with it' if served else 'raise a UserError'
        assert is_served(name, context) == served, f'capabilities say {field}={served}: {remedy}'
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
def test_returned_weights(name):
    kernel = KERNELS[name]
    module, subject = build(in_multi_head(kernel))(), subject_of(f'MultiHead, {name}')
    y, returned = module.apply(subject.params, X, CONTEXT, False, mutable=['pattern'])
    weights = jax.tree.leaves(returned)
    assert len(weights) == (kernel['use'] != 'attention.linformer:Linformer')
    if weights:
        assert weights[0].shape == (B, 4, T, T)
        assert not can(kernel).causal or not np.triu(weights[0], 1).any()
        assert measured(f'MultiHead, {name}', 'weights') <= contracts.FLOAT32
    assert_near(y, module.apply(subject.params, X, CONTEXT, False), F32_RELATIVE)
