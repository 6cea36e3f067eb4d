# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Expert parallelism: each of n devices has E/n experts, and an all-to-all sends tokens to their experts' devices.

    rows of a device's routes -> all-to-all -> its experts -> all-to-all -> y_t = sum of gate * row

Lepikhin et al. 2020, "GShard", sections 3.1 and 3.2, https://arxiv.org/abs/2006.16668; Fedus et al. 2021, "Switch
Transformers", section 5.4, https://arxiv.org/abs/2101.03961. There the buffers limit the load of an expert. Here no
route is dropped beyond the router's own drops: a round sends at most C rows from each device to each other one, C = 5/4
of the mean, and the number of rounds is set by the pair of devices with the highest load; it is one for nearly even
loads.

Numbers sent per device for R routes of its tokens: 5/4 R D (n-1)/n each way, forward and backward, in each round;
buffers have size 5/4 R D. The first round saves its products for the backward pass; later rounds are recomputed. In
each round all devices run as many blocks of rows as the one with the highest load. Dropout inside experts draws other
masks than on one device. `jax.lax.ragged_all_to_all` would need one round, but does not run on the CPU.
"""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.ops import expert as here
from saccade.ops.devices import Devices, split_experts
from saccade.ops.expert import Expert
from saccade.ops.routing import Routes
from saccade.types import PRNGKey

ROOM = 5 / 4  # capacity of a round between two devices, relative to the mean
UNEVEN = 'uneven_loads'  # name, in a compiled program, of the loops that run only for uneven loads


def serve(
    expert: Expert, params: PyTree, x: Float[Array, 'T D'], routes: Routes, block: int, key: PRNGKey | None
) -> tuple[Float[Array, 'T D'], Int[Array, 'T']]:
    """Return the sum over each token's routes of gate * expert(token), and the number of its served routes.

    Args:
        expert: function of its parameters, rows [M D], and a key for dropout.
        params: stacked parameters of E experts.
        block: maximum rows of an expert run at once, without a capacity or with expert parallelism.
    """
    (T, _), experts, devices = x.shape, jax.tree.leaves(params)[0].shape[0], split_experts()
    if devices is None:
        seats = here.seats(routes, experts, block)
        served = jnp.zeros(T, jnp.int32).at[routes.token].add(seats.found)
        return here.serve(expert, params, x, routes, seats, key), served
    others = tuple(axis for axis in devices.rows if axis != devices.experts)
    shares, copies = (math.prod(devices.mesh.shape[axis] for axis in axes) for axes in (devices.rows, others))
    # Devices have equally many tokens.
    padded, chosen = jax.tree.map(lambda leaf: _padded(leaf, shares), (x, _Chosen.of(routes, T, experts)))
    room = math.ceil(ROOM * routes.token.size / (shares * devices.mesh.shape[devices.experts]))
    # One copy for each device with these experts, so that XLA sums their gradients, also in bfloat16 on the CPU.
    copied = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (copies, *leaf.shape)), params)
    rows, own = PartitionSpec(devices.rows), PartitionSpec(others, devices.experts)
    on_each = jax.shard_map(
        functools.partial(_on_each, expert, devices, (room, block)),
        mesh=devices.mesh,
        in_specs=(own, rows, rows, PartitionSpec(), PartitionSpec()),
        out_specs=(rows, rows),
        axis_names=set(devices.rows),  # XLA partitions the experts themselves over the other axes
        check_vma=False,
    )
    limit = routes.limit if routes.each is not None else None
    y, served = on_each(copied, padded, chosen, limit, key)
    return y[:T], served[:T]


@struct.dataclass
class _Chosen:
    """Routes by token: expert, gate, and mask of wanted routes."""

    expert: Int[Array, 'T A']
    gate: Float[Array, 'T A']
    wanted: Bool[Array, 'T A']

    @classmethod
    def of(cls, routes: Routes, tokens: int, experts: int) -> '_Chosen':
        if routes.each is not None:
            return cls(*(leaf.reshape(tokens, routes.each) for leaf in (routes.expert, routes.gate, routes.wanted)))
        wanted = routes.wanted
        if routes.limit is not None:
            wanted &= here.ranks(jnp.where(wanted, routes.expert, experts), experts)[1] < routes.limit
        pairs = (routes.token, routes.expert)
        gate = jnp.zeros((tokens, experts), routes.gate.dtype).at[pairs].add(jnp.where(wanted, routes.gate, 0))
        every = jnp.broadcast_to(jnp.arange(experts), gate.shape)
        return cls(every, gate, jnp.zeros(gate.shape, bool).at[pairs].max(wanted))


@struct.dataclass
class _Exchange:
    """Exchange of rows between a device and n devices.

    Attributes:
        route: the device's own routes, wanted ones first, sorted by expert and thereby by device.
        first: index of the first of these for each device.
        sent: number of routes for each device.
        received: number of routes from each device, for each of the E/n local experts.
        rounds: number of rounds, for the pair of devices with the highest load.
        room: capacity of a round (C).
        block: maximum rows of an expert run at once.
        devices: all devices.
    """

    route: Int[Array, 'R']
    first: Int[Array, 'n']
    sent: Int[Array, 'n']
    received: Int[Array, 'n e']
    rounds: Int[Array, '']
    room: int = struct.field(pytree_node=False)
    block: int = struct.field(pytree_node=False)
    devices: Devices = struct.field(pytree_node=False)

    @classmethod
    def of(cls, chosen: _Chosen, experts: int, sizes: tuple[int, int], devices: Devices) -> '_Exchange':
        n, (room, block) = devices.mesh.shape[devices.experts], sizes
        number = jnp.where(chosen.wanted, chosen.expert, experts).ravel()
        count = jnp.bincount(number, length=experts).reshape(n, experts // n)
        sent = count.sum(axis=-1)
        room = min(room, number.size)
        return cls(
            route=jnp.argsort(number, stable=True),
            first=jnp.cumsum(sent) - sent,
            sent=sent,
            received=_swapped(count, devices),
            # Equal on all devices, which run each round together.
            rounds=jax.lax.pmax(-(-sent.max() // room), devices.rows),
            room=room,
            block=block,
            devices=devices,
        )

    def run(
        self,
        number: Int[Array, ''],
        expert: Expert,
        params: PyTree,
        x: Float[Array, 't D'],
        gate: Float[Array, 't A'],
        key: PRNGKey | None,
    ) -> Float[Array, 't D']:
        """Return the sum over the routes of a round of gate * expert(token), in float32."""
        (n, e), (t, D) = self.received.shape, x.shape
        place = number * self.room + jnp.arange(self.room)
        route = self.route.at[self.first[:, None] + place].get(mode='clip')
        token = jnp.where(place < self.sent[:, None], route // gate.shape[-1], t)
        given = _swapped(x.at[token].get(mode='fill', fill_value=0), self.devices)
        # The rows from each device are sorted by expert; buffer padding belongs to no expert.
        ends = jnp.cumsum(self.received, axis=-1)
        owner = (place[:, None] >= ends[:, None]).sum(axis=-1).ravel()
        rows = jnp.arange(n * self.room)
        routes = Routes(rows, owner, jnp.ones(rows.size), owner < e)
        seats = here.seats(routes, e, self.block)
        filled = jnp.where(seats.found, seats.row // seats.rows + 1, 0).max()
        seats = seats.replace(filled=jax.lax.pmax(filled, self.devices.rows))
        made = here.outputs(expert, params, given.reshape(n * self.room, D), rows, seats, key)
        returned = _swapped(made.reshape(n, self.room, D), self.devices)
        weighted = gate.ravel()[route][..., None] * returned.astype(jnp.float32)
        return jnp.zeros((t, D), jnp.float32).at[token].add(weighted, mode='drop')


def _on_each(
    expert: Expert,
    devices: Devices,
    sizes: tuple[int, int],
    params: PyTree,
    x: Float[Array, 't D'],
    chosen: _Chosen,
    limit: Int[Array, ''] | None,
    key: PRNGKey | None,
) -> tuple[Float[Array, 't D'], Int[Array, 't']]:
    """Serve the tokens of one device, with one copy of its experts' parameters."""
    params = jax.tree.map(lambda leaf: leaf[0], params)
    experts = jax.tree.leaves(params)[0].shape[0] * devices.mesh.shape[devices.experts]
    if limit is not None:
        chosen = chosen.replace(wanted=chosen.wanted & (_ranks(chosen, experts, devices) < limit))
    if key is not None:
        key = jax.random.fold_in(key, jax.lax.axis_index(devices.rows))
    exchange = _Exchange.of(chosen, experts, sizes, devices)
    y = exchange.run(jnp.zeros((), jnp.int32), expert, params, x, chosen.gate, key)
    y += _later_rounds(expert, exchange, key, params, x, chosen.gate)
    return y.astype(x.dtype), chosen.wanted.sum(axis=-1)


def _ranks(chosen: _Chosen, experts: int, devices: Devices) -> Int[Array, 't A']:
    """Return the rank of each route among the wanted routes of its expert, over all devices."""
    count, rank = here.ranks(jnp.where(chosen.wanted, chosen.expert, experts).ravel(), experts)
    counts = jax.lax.all_gather(count, devices.rows)
    before = jnp.arange(counts.shape[0])[:, None] < jax.lax.axis_index(devices.rows)
    return rank.reshape(chosen.expert.shape) + counts.sum(axis=0, where=before)[chosen.expert]


def _later_rounds(expert: Expert, exchange: _Exchange, key: PRNGKey | None, *given: Any) -> Float[Array, 't D']:
    """Sum the rounds after the first; the backward pass recomputes each."""

    def run(number: Array, known: Any, given: Any) -> Array:
        exchange, key = known
        key = None if key is None else jax.random.fold_in(key, number)
        return exchange.run(number, expert, *given, key)

    @jax.custom_vjp
    def rounds(known: Any, given: Any) -> Array:
        zeros = jnp.zeros(given[1].shape, jnp.float32)
        with jax.named_scope(UNEVEN):
            return jax.lax.fori_loop(1, known[0].rounds, lambda number, y: y + run(number, known, given), zeros)

    def backward(saved: Any, dy: Array) -> tuple[None, Any]:
        known, given = saved

        def add(number: Array, sums: Any) -> Any:
            return jax.tree.map(jnp.add, sums, jax.vjp(functools.partial(run, number, known), given)[1](dy)[0])

        with jax.named_scope(UNEVEN):
            return None, jax.lax.fori_loop(1, known[0].rounds, add, jax.tree.map(jnp.zeros_like, given))

    rounds.defvjp(lambda *saved: (rounds(*saved), saved), backward)
    return rounds((exchange, key), given)


def _swapped(x: Array, devices: Devices) -> Array:
    """All-to-all: send row i of [n ...] to the i-th device that shares the experts, and receive its row."""
    return jax.lax.all_to_all(x, devices.experts, 0, 0, tiled=True)


def _padded(leaf: Array, shares: int) -> Array:
    """Pad the tokens to a multiple of the devices."""
    lacking = -leaf.shape[0] % shares
    return jnp.pad(leaf, ((0, lacking), *((0, 0),) * (leaf.ndim - 1))) if lacking else leaf
