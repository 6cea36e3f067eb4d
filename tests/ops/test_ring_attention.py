# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The trip of keys and values around a ring: every pair of blocks once, the same work for all, no round in vain."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType

from saccade.ops import ring
from saccade.ops.devices import Devices
from saccade.ops.flops import flops
from saccade.ops.mask import Causal, Chunked, Full, Strided, Window
from saccade.ops.ring import Leg, Trip
from saccade.ops.scoring import Scoring

T, BLOCK = 64, 4
MASKS = {
    'causal': Causal(),
    'full': Full(),
    'window back': Causal() & Window(9),
    'window both ways': Window(5, 7),
    'chunks': Causal() & Chunked(16),
    'strided': Causal() & Strided(3),
}


def devices(n, **more):
    sizes = {'data': 1, 'sequence': n, **more}
    mesh = AbstractMesh(tuple(sizes.values()), tuple(sizes), axis_types=(AxisType.Auto,) * len(sizes))
    return Devices(mesh, ('data',), (), 'sequence')


def visited(trip):
    """Each pair of indices that is visited, as often as it is."""
    found = np.zeros((trip.shares[0].length, trip.shares[1].length), int)
    for visits in trip.visits():
        flat = [np.asarray(leaf).ravel() for leaf in (visits.q_start, visits.k_start, visits.k_end)]
        for q, k, end in zip(*flat, strict=True):
            q_end = (q // trip.shares[0].size + 1) * trip.shares[0].size  # what is after it is padding
            found[q : min(q + trip.blocks[0], q_end), k : min(k + trip.blocks[1], end)] += 1
    return found


@pytest.mark.parametrize('name', MASKS)
@pytest.mark.parametrize(('n', 'blocks'), [(4, (3, 5)), (2, (100, 100))])
def test_every_pair_that_the_mask_allows_is_visited_once(name, n, blocks):
    trip = Trip.of(MASKS[name], (T, T), blocks, n)
    found, index = visited(trip), jnp.arange(T)
    allowed = np.asarray(MASKS[name](index, index))
    assert found.max() == 1
    np.testing.assert_array_equal(found[allowed], 1)


@pytest.mark.parametrize('n', [2, 4, 8])
def test_causal_work_is_the_same_for_all_devices_in_every_round(n):
    trip = Trip.of(Causal(), (T, T), (BLOCK, BLOCK), n)
    work = trip.live.sum((2, 3))
    assert trip.shares[0].parts == 2
    np.testing.assert_array_equal(work, np.broadcast_to(work[:, :1], work.shape))
    blocks = T // BLOCK
    assert trip.work * n == blocks * (blocks + 1) // 2  # the pairs on the diagonal and below it, and no others
    contiguous = Trip._made(Causal(), (T, T), (BLOCK, BLOCK), n, 1)
    per_device = blocks // n
    assert contiguous.work == (n - 1) * per_device**2 + per_device * (per_device + 1) // 2


@pytest.mark.parametrize(
    ('mask', 'legs'),
    [
        (Full(), (Leg(7, 1), Leg(1, 0))),
        (Causal(), (Leg(1, 1), Leg(6, 1), Leg(1, 0))),
        (Causal() & Window(8), (Leg(1, 1), Leg(1, 0))),
        (Window(0), (Leg(1, 0),)),
        (Window(3, 4), (Leg(1, 1), Leg(1, 6), Leg(1, 0))),  # of the device before, and of the one after
    ],
)
def test_rounds_in_which_nobody_has_anything_to_do_are_left_out(mask, legs):
    assert Trip.of(mask, (T, T), (BLOCK, BLOCK), 8).legs == legs


def test_halves_come_home_and_each_device_gets_one_of_each_end():
    for n in (2, 3, 8):
        there, back = ring._zigzag(n)
        got = {device: set() for device in range(n)}
        for odd, pairs in enumerate(there):
            assert sorted(to for _, to in pairs) == sorted(at for at, _ in pairs) == list(range(n))
            assert back[odd] == [(to, at) for at, to in pairs]
            for at, to in pairs:
                got[to].add(2 * at + odd)
        assert all(halves == {device, 2 * n - 1 - device} for device, halves in got.items())


def shapes(length, N=2, K=1, H=8):
    return [jax.ShapeDtypeStruct((1, length, heads, H), jnp.float32) for heads in (N, K, K)]


def attended(mask, n, length, blocks=(BLOCK, BLOCK)):
    return lambda q, k, v: ring.attend(q, k, v, Scoring(mask), blocks, devices(n))


def test_causal_attention_multiplies_half_of_what_full_attention_does():
    """A device is the program of all: the FLOPs of the slowest, times n."""
    n = 8
    full, causal = (flops(attended(mask, n, T), *shapes(T)) for mask in (Full(), Causal()))
    assert full == 4 * 2 * T * T * 8
    blocks = T // BLOCK
    assert causal / full == (blocks + 1) / (2 * blocks)
    windowed = flops(attended(Causal() & Window(8), n, T), *shapes(T))
    assert windowed < full / 4


def sizes_in(jaxpr):
    for equation in jaxpr.eqns:
        yield from (variable.aval.size for variable in equation.outvars if hasattr(variable.aval, 'size'))
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(inner, 'jaxpr', inner)
                if hasattr(inner, 'eqns'):
                    yield from sizes_in(inner)


def test_no_buffer_has_all_pairs_of_tokens_forward_or_backward():
    length, n = 1024, 8
    loss = jax.grad(lambda *qkv: attended(Causal(), n, length, (64, 64))(*qkv).sum(), (0, 1, 2))
    largest = max(sizes_in(jax.make_jaxpr(loss)(*shapes(length)).jaxpr))
    assert largest == 2 * length * 8  # queries, their gradients and the output
