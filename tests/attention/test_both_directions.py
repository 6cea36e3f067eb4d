# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Both directions of causal mixers: the backward half is the forward one of the reversed row, packed rows included."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.both_directions import from_the_end
from saccade.build import build
from saccade.types import LayerContext, UserError

B, T, D = 2, 12, 8
FIXED = dict(heads=2, chunk=4)
MIXERS = {
    'retention': dict(use='attention.retention:Retention', **FIXED),
    'delta': dict(use='attention.delta:Delta', **FIXED),
    'gated_linear': dict(use='attention.gated_linear:GatedLinear', **FIXED),
    'mamba2': dict(use='attention.mamba2:Mamba2', **FIXED),
    'lstm': dict(use='recurrent.mixer.recurrent:Recurrent', cell=dict(use='recurrent.cell.lstm:LSTM', width=6)),
    'softmax': dict(
        use='attention.multi_head:MultiHead',
        heads=2,
        kernel=dict(use='attention.plain:Plain'),
        mask=dict(use='ops.mask:Causal'),
        position=dict(use='position.rotary:Rotary'),
    ),
}
SEGMENTS = jnp.array([[1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 0, 0], [1] * 12])
POSITIONS = jnp.array([[0, 1, 2, 3, 0, 1, 2, 3, 4, 0, 0, 0], list(range(12))])
CONTEXT = LayerContext(POSITIONS, SEGMENTS)


@pytest.fixture(params=MIXERS)
def mixer(request):
    return MIXERS[request.param]


def both(mixer):
    model = build(dict(use='attention.both_directions:BothDirections', mixer=mixer), '')()
    x = jax.random.normal(jax.random.key(0), (B, T, D))
    return model, x, model.init(jax.random.key(1), x, CONTEXT, False)['params']


def reversed_documents(x):
    """The row with each of its documents reversed in its own place."""
    x = np.array(x)
    for row, segments in enumerate(np.asarray(SEGMENTS)):
        for number in {*segments.tolist()} - {0}:
            x[row, segments == number] = x[row, segments == number][::-1]
    return jnp.asarray(x)


@pytest.mark.long
def test_it_is_the_mixer_and_the_mixer_of_each_reversed_document(mixer):
    model, x, params = both(mixer)
    alone = build(mixer, '')()
    forward = alone.apply({'params': params['forward']}, x, CONTEXT, False)
    backward = alone.apply({'params': params['backward']}, reversed_documents(x), CONTEXT, False)
    wanted = forward + reversed_documents(backward)
    real = np.asarray(SEGMENTS) != 0
    found = model.apply({'params': params}, x, CONTEXT, False)
    np.testing.assert_allclose(found[real], wanted[real], rtol=2e-5, atol=2e-5)


@pytest.mark.long
def test_with_its_directions_exchanged_it_says_the_same_of_the_reversed_row(mixer):
    model, x, params = both(mixer)
    exchanged = {'forward': params['backward'], 'backward': params['forward']}
    found = model.apply({'params': params}, x, CONTEXT, False)
    again = reversed_documents(model.apply({'params': exchanged}, reversed_documents(x), CONTEXT, False))
    real = np.asarray(SEGMENTS) != 0
    np.testing.assert_allclose(found[real], again[real], rtol=2e-5, atol=2e-5)


@pytest.mark.long
def test_a_token_reads_all_of_its_document_and_nothing_else(mixer):
    model, x, params = both(mixer)
    changed = x.at[0, 6].add(1.0)
    difference = model.apply({'params': params}, changed, CONTEXT, False) - model.apply(
        {'params': params}, x, CONTEXT, False
    )
    moved = np.abs(np.asarray(difference)).max(axis=-1) > 1e-6
    np.testing.assert_array_equal(moved[0], np.asarray(SEGMENTS[0]) == 2)
    assert not moved[1].any()


def test_places_are_counted_from_the_end_of_each_document():
    found = from_the_end(CONTEXT)
    assert found.segments[0].tolist() == [0, 0, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1]
    assert found.positions[0].tolist() == [0, 0, 0, 0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert from_the_end(LayerContext(POSITIONS[1:])).segments is None


@pytest.mark.long
def test_it_does_not_decode(mixer):
    model, x, _ = both(mixer)
    with pytest.raises(UserError, match='cannot decode'):
        model.init_state(x, 4)
