# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Routing of a mixture of experts: which expert serves which token, and how even the loads are.

Letters beside those of the axis table: E experts, A experts a token, R routes. T counts the tokens of all rows.
"""

import math

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Float, Int

from saccade.ops.padding import of_tokens, token_mean, token_total
from saccade.types import Total


@struct.dataclass
class Routes:
    """Routes: pairs of a token and an expert that is to serve it.

    Attributes:
        token, expert: of each pair.
        gate: what the expert's output is multiplied by.
        wanted: which pairs are to be served; those of padding are not.
        limit: the most wanted pairs that one expert serves, those that stand first; None for as many as there are.
        room: a bound of the limit that is known before any token is.
        each: routes of every token, which stand side by side in the order of the tokens; None where they do not.
    """

    token: Int[Array, 'R']
    expert: Int[Array, 'R']
    gate: Float[Array, 'R']
    wanted: Bool[Array, 'R']
    limit: Int[Array, ''] | None = None
    room: int | None = struct.field(pytree_node=False, default=None)
    each: int | None = struct.field(pytree_node=False, default=None)


def routes_by_token(
    expert: Int[Array, 'T A'], gate: Float[Array, 'T A'], real: Bool[Array, 'T'], capacity: float | None
) -> Routes:
    """Return the routes that the tokens chose, in the order of the tokens.

    Args:
        capacity: the most pairs that one expert serves, as a multiple of the mean over experts; None for no bound.
    """
    T, A = expert.shape
    routes = Routes(jnp.repeat(jnp.arange(T), A), expert.ravel(), gate.ravel(), jnp.repeat(real, A), each=A)
    if capacity is None:
        return routes
    limit = jnp.ceil(capacity * real.sum()).astype(jnp.int32)
    return routes.replace(limit=limit, room=min(T, math.ceil(capacity * T)))


def routes_by_expert(scores: Float[Array, 'T E'], share: float, real: Bool[Array, 'T']) -> Routes:
    """Return the routes that experts chose: each takes a share of the tokens, of highest score. Gates are scores."""
    T, E = scores.shape
    room, limit = math.ceil(share * T), jnp.ceil(share * real.sum()).astype(jnp.int32)
    _, token = jax.lax.top_k(jnp.where(real, scores.T, -jnp.inf), room)
    gate = jnp.take_along_axis(scores.T, token, axis=-1)
    wanted = jnp.tile(jnp.arange(room) < limit, E)
    return Routes(token.ravel(), jnp.repeat(jnp.arange(E), room), gate.ravel(), wanted, limit, room)


def load(expert: Int[Array, 'T A'], experts: int, real: Bool[Array, 'T']) -> Float[Array, 'E']:
    """Return the share of the tokens' routes that each expert has."""
    counted = jnp.repeat(real, expert.shape[-1]).astype(jnp.float32)
    return jnp.bincount(expert.ravel(), counted, length=experts) / jnp.maximum(counted.sum(), 1)


def balance_loss(scores: Float[Array, 'T E'], share: Float[Array, 'E'], real: Bool[Array, 'T']) -> Total:
    """Return E sum over experts of load times mean probability: 1 where either is even. The load has no gradient."""
    probabilities = scores / scores.sum(axis=-1, keepdims=True)
    return of_tokens(scores.shape[-1] * (share * token_mean(probabilities, real)).sum(), real)


def router_z_loss(logits: Float[Array, 'T E'], real: Bool[Array, 'T']) -> Total:
    """Return the mean square, over tokens, of the log of the softmax's denominator."""
    return token_total(jnp.square(jax.nn.logsumexp(logits, axis=-1)), real)
