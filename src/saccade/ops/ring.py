# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Ring attention: blockwise attention where the keys and values of each device pass around a ring of devices.

Each device keeps its queries. In round r it has the keys and values of the device r places before it, accumulates their
blocks with `ops.blockwise`, and meanwhile sends them to the next device (Liu et al. 2023, section 3). In the backward
pass they go around again together with their gradients, and scores are recomputed: a device stores T/n tokens.

Under a causal mask and n parts of a row, the first device would have 1/n of the work of the last one, and all would
wait. With 2n parts, device i takes parts i and 2n-1-i, and all have the same work in each round (the "zigzag"; Brandon
et al. 2023 balance by taking every nth token). The mask determines the layout and the skipped rounds: the layout with
the least work, summed over rounds, of the busiest device.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, Mesh, PartitionSpec
from jaxtyping import Array, Bool, Int, PyTree

from saccade.ops import blockwise
from saccade.ops.blockwise import BlockPlan, Visits
from saccade.ops.devices import Devices
from saccade.ops.scoring import Scoring
from saccade.types import Keys, Mask, Mixed, Queries, Values

TOKENS, HEADS_TOKENS = (None,), (None, None)  # specs of the axes before the tokens, in [B T ...] and in [B N T]


def attend(q: Queries, k: Keys, v: Values, scoring: Scoring, blocks: tuple[int, int], devices: Devices) -> Mixed:
    """Return the attention output, equal to `plain.attend`, in the dtype of v.

    Args:
        scoring: scoring without terms that have a carry.
        blocks: maximum tokens per block of queries and of keys.
        devices: devices that split the tokens of queries and keys equally.
    """
    trip = Trip.of(scoring.mask, (q.shape[1], k.shape[1]), blocks, devices.parts)
    ring = _Ring(BlockPlan.make(scoring, trip.blocks, q), trip.legs, trip.shares, devices.mesh, devices.tokens)
    return _attend(ring, trip.visits(), q, k, v, *blockwise.leaves_of(scoring)).astype(v.dtype)


@dataclass(frozen=True)
class Shares:
    """Partition of a row over devices.

    Attributes: length of the row in tokens; number of devices; parts per device, one or, for a zigzag, two.
    """

    length: int
    devices: int
    parts: int

    @property
    def size(self) -> int:
        """Tokens per part."""
        return self.length // (self.devices * self.parts)

    def starts(self, device: int) -> tuple[int, ...]:
        """Return the index in the row of the first token of each part of a device."""
        numbers = (device, 2 * self.devices - 1 - device)[: self.parts]
        return tuple(number * self.size for number in numbers)


@dataclass(frozen=True)
class Leg:
    """Leg of a trip around the ring.

    Attributes: number of rounds; number of places that keys and values move after each of them, 0 after the last.
    """

    rounds: int
    shift: int


@dataclass(frozen=True, eq=False)
class Trip:
    """Schedule of keys and values around the ring, with the live blocks of each device and round.

    Attributes:
        shares: partition of queries, and of keys.
        blocks: tokens per block of each.
        rounds: rounds in which any device has work.
        live: live pairs of query and key blocks, for each round and device.
    """

    shares: tuple[Shares, Shares]
    blocks: tuple[int, int]
    rounds: tuple[int, ...]
    live: Bool[np.ndarray, 'R devices Q K']

    @classmethod
    def of(cls, mask: Mask, lengths: tuple[int, int], blocks: tuple[int, int], devices: int) -> 'Trip':
        """Return the schedule with the least work of the busiest devices."""
        zigzags = len({*lengths}) == 1 and lengths[0] % (2 * devices) == 0
        trips = [cls._made(mask, lengths, blocks, devices, parts) for parts in ((1, 2) if zigzags else (1,))]
        return min(trips, key=lambda trip: trip.work)

    @classmethod
    def _made(cls, mask: Mask, lengths: tuple[int, int], blocks: tuple[int, int], devices: int, parts: int) -> 'Trip':
        shares = tuple(Shares(length, devices, parts) for length in lengths)
        sizes = tuple(min(block, share.size) for block, share in zip(blocks, shares, strict=True))
        rows, columns = (
            [_ranges(share, size, device) for device in range(devices)]
            for share, size in zip(shares, sizes, strict=True)
        )
        live = np.array(
            [
                [[[mask.live(q, k) for k in columns[(i - r) % devices]] for q in rows[i]] for i in range(devices)]
                for r in range(devices)
            ]
        )
        rounds = tuple(np.flatnonzero(live.any((1, 2, 3))).tolist())
        return cls(shares, sizes, rounds, live[list(rounds)])

    @property
    def work(self) -> int:
        """Pairs of blocks of the busiest device, summed over the rounds."""
        return int(self._most.sum())

    @property
    def _most(self) -> Int[np.ndarray, 'R']:
        return self.live.sum((2, 3)).max(axis=1, initial=0)

    @property
    def legs(self) -> tuple[Leg, ...]:
        """Consecutive rounds with equal numbers of block pairs and equal shifts, one leg each."""
        shifts = [*np.diff(self.rounds).tolist(), 0][: len(self.rounds)]
        alike = groupby(zip(shifts, self._most.tolist(), strict=True))
        return tuple(Leg(len(list(rounds)), shift) for (shift, _), rounds in alike)

    def visits(self) -> list[Visits]:
        """Return the visits of each leg, [rounds, devices, visits]. A less busy device has empty visits."""
        first, found = 0, []
        for leg in self.legs:
            rounds = range(first, first + leg.rounds)
            first += leg.rounds
            found.append(jax.tree.map(jnp.asarray, self._visits(rounds, int(self._most[rounds[0]]))))
        return found

    def _visits(self, rounds: Sequence[int], most: int) -> Visits:
        devices = self.shares[0].devices
        table = np.zeros((5, len(rounds), devices, most), np.int32)
        for place, number in enumerate(rounds):
            for i in range(devices):
                j = (i - self.rounds[number]) % devices
                q, k = np.nonzero(self.live[number, i])
                q_start, _ = self._starts(0, i)
                k_start, k_end = self._starts(1, j)
                table[:, place, i, : len(q)] = q, k, q_start[q], k_start[k], k_end[k]
        none = np.zeros(table.shape[1:], bool)
        return Visits(*table, none, none)

    def _starts(self, side: int, device: int) -> tuple[Int[np.ndarray, ' Q'], Int[np.ndarray, ' Q']]:
        """Return the index of the first token of each block of a device, and of the end of its part."""
        share, size = self.shares[side], self.blocks[side]
        places = np.arange(0, share.size, size)
        starts = np.array(share.starts(device))[:, None]
        return (starts + places).ravel(), (starts + share.size + 0 * places).ravel()


def _ranges(share: Shares, block: int, device: int) -> list[range]:
    """Return the indices of each block of a device."""
    return [
        range(start + part[0], start + part[-1] + 1)
        for start in share.starts(device)
        for part in blockwise.ranges(share.size, block)
    ]


@dataclass(frozen=True)
class _Ring:
    """Static values of a call. Attributes: the attributes of Trip; plan of its blocks; mesh; mesh axis of tokens."""

    plan: BlockPlan
    legs: tuple[Leg, ...]
    shares: tuple[Shares, Shares]
    mesh: Mesh | AbstractMesh
    axis: str

    def on_each(self, function: Any, given: Sequence[tuple[Any, Any]], out: PyTree) -> Any:
        """Call a function on each device with the local part of its arguments; XLA partitions rows and heads.

        Args:
            given: arguments, each with the specs of the axes before its token axis; None for replicated arguments.
            out: the same for the results.
        """
        arguments, places = zip(*given, strict=True)
        devices = jnp.arange(self.shares[0].devices)
        spread = jax.shard_map(
            lambda device, *arguments: function(device[0], *arguments),
            mesh=self.mesh,
            in_specs=(self._spec(()), *map(self._spec, places)),
            out_specs=jax.tree.map(self._spec, out, is_leaf=_is_place),
            axis_names={self.axis},
            check_vma=False,  # `passed` returns values of another device, and gradients are summed explicitly
        )
        return spread(devices, *arguments)

    def _spec(self, place: tuple[None, ...] | None) -> PartitionSpec:
        return PartitionSpec() if place is None else PartitionSpec(*place, self.axis)

    def passed(self, tree: PyTree, shift: int) -> PyTree:
        """Shift the values of each device by a number of places."""
        n = self.shares[0].devices
        return self._sent(tree, [(i, (i + shift) % n) for i in range(n)])

    def taken(self, x: Array, device: Array, side: int) -> Array:
        """Rearrange a device's tokens [B T/n ...] to its parts, each padded to whole blocks."""
        share, block = self.shares[side], self.plan.blocks[side]
        if share.parts == 2:
            there, _ = _zigzag(share.devices)
            halves = jnp.split(x, 2, axis=1)
            ours = [self._sent(half, pairs) for half, pairs in zip(halves, there, strict=True)]
            parts = _swapped(device % 2 == 1, *ours)
        else:
            parts = (x,)
        return jnp.concatenate([blockwise.pad(part, block) for part in parts], axis=1)

    def returned(self, x: Array, device: Array, side: int) -> Array:
        """Undo `taken`."""
        share = self.shares[side]
        parts = [part[:, : share.size] for part in jnp.split(x, share.parts, axis=1)]
        if share.parts == 2:
            _, back = _zigzag(share.devices)
            ours = _swapped(device % 2 == 1, *parts)
            parts = [self._sent(half, pairs) for half, pairs in zip(ours, back, strict=True)]
        return jnp.concatenate(parts, axis=1)

    def _sent(self, tree: PyTree, pairs: list[tuple[int, int]]) -> PyTree:
        stays = all(at == to for at, to in pairs)
        return tree if stays else jax.tree.map(lambda x: jax.lax.ppermute(x, self.axis, pairs), tree)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attend(
    ring: _Ring, visits: list[Visits], q: Queries, k: Keys, v: Values, floats: list[Array], others: list[Array]
) -> Mixed:
    return _forward(ring, visits, q, k, v, floats, others)[0]


def _forward(
    ring: _Ring, visits: list[Visits], q: Queries, k: Keys, v: Values, floats: list[Array], others: list[Array]
) -> tuple[Mixed, PyTree]:
    plan = ring.plan

    def each(
        device: Array, visits: list[Visits], q: Array, k: Array, v: Array, floats: list[Array], others: list[Array]
    ) -> tuple[Mixed, PyTree]:
        scoring, dtype = plan.scoring(floats, others), v.dtype
        q, k, v = ring.taken(q, device, 0), ring.taken(k, device, 1), ring.taken(v, device, 1)

        def visit(state: PyTree, leg: Leg, here: Visits) -> PyTree:
            (k, v), sums = state
            on = ring.passed((k, v), leg.shift)
            return on, blockwise.accumulate(plan, scoring, here, q, k, v, sums)

        _, sums = _travelled(ring, visits, visit, ((k, v), blockwise.begin(plan, scoring, q, v)))
        out, known = blockwise.finalise(scoring, sums)
        return ring.returned(out.astype(dtype), device, 0), (q, k, v, out, known)

    given = [(visits, TOKENS), *((x, TOKENS) for x in (q, k, v)), (floats, None), (others, None)]
    out, (*kept, known) = ring.on_each(each, given, (TOKENS, (TOKENS, TOKENS, TOKENS, TOKENS, HEADS_TOKENS)))
    return out, (visits, kept, known, floats, others)


def _backward(ring: _Ring, saved: PyTree, dout: Mixed) -> tuple[PyTree, ...]:
    plan, (visits, kept, known, floats, others) = ring.plan, saved

    def each(
        device: Array, visits: list[Visits], dout: Array, kept: list[Array], known: PyTree, floats: Any, others: Any
    ) -> tuple[Array, ...]:
        q, k, v, out = kept
        dout = ring.taken(dout, device, 0).astype(jnp.float32)
        output = dout, known, blockwise.inner_products(dout, out)

        def visit(state: PyTree, leg: Leg, here: Visits) -> PyTree:
            (k, v), sums = state
            on = ring.passed((k, v), leg.shift)
            sums = blockwise.pull_back(plan, here, q, k, v, floats, others, output, sums)
            dk, dv = ring.passed((sums.k, sums.v), leg.shift)
            return on, sums._replace(k=dk, v=dv)

        start = blockwise.no_gradients(plan, visits[0], q, k, v, floats, others)
        _, sums = _travelled(ring, visits, visit, ((k, v), start))
        dq, dk, dv = blockwise.narrowed((sums.q, sums.k, sums.v), (q, k, v))
        dk, dv = ring.passed((dk, dv), -sum(leg.rounds * leg.shift for leg in ring.legs))  # home
        dfloats = blockwise.narrowed(jax.lax.psum(sums.floats, ring.axis), floats)
        return ring.returned(dq, device, 0), ring.returned(dk, device, 1), ring.returned(dv, device, 1), dfloats

    given = [(visits, TOKENS), (dout, TOKENS), (kept, TOKENS), (known, HEADS_TOKENS), (floats, None), (others, None)]
    return None, *ring.on_each(each, given, (TOKENS, TOKENS, TOKENS, None)), None


_attend.defvjp(_forward, _backward)


def _travelled(ring: _Ring, visits: list[Visits], visit: Any, state: PyTree) -> PyTree:
    """Run all legs; keys and values are sent on while a device computes with them."""
    for leg, here in zip(ring.legs, visits, strict=True):
        own = jax.tree.map(lambda leaf: leaf[:, 0], here)  # this device's visits
        state, _ = jax.lax.scan(lambda state, here, leg=leg: (visit(state, leg, here), None), state, own)
    return state


def _is_place(given: Any) -> bool:
    return given is None or all(name is None for name in given)


def _zigzag(n: int) -> tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]]:
    """Return, for the first and the second half of each device's tokens, the destinations, and the way back.

    Of halves 0 .. 2n-1, device i stores 2i and 2i+1, and computes i and 2n-1-i, one even and one odd.
    """
    there = [[(d, min(half, 2 * n - 1 - half)) for d, half in ((d, 2 * d + odd) for d in range(n))] for odd in (0, 1)]
    return there, [[(to, at) for at, to in pairs] for pairs in there]


def _swapped(condition: Array, one: Array, other: Array) -> tuple[Array, Array]:
    return jnp.where(condition, other, one), jnp.where(condition, one, other)
