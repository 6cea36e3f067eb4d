# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Routing of a mixture of experts: assignment of tokens to experts, and load balance.

Additional letters: E experts, A experts per token, R routes. T counts the tokens of all rows.
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
    """Routes: pairs of a token and its expert.

    Attributes:
        token, expert: indices of each pair.
        gate: factor of the expert's output.
        wanted: mask of pairs to serve, False for padding.
        limit: maximum wanted pairs per expert, the first ones; None for no limit.
        room: static bound of the limit.
        each: routes per token, if they are contiguous in the order of the tokens; else None.
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
    """Return the routes chosen by tokens, in the order of the tokens.

    Args:
        capacity: maximum pairs per expert, as a multiple of the mean over experts; None for no bound.
    """
    T, A = expert.shape
    routes = Routes(jnp.repeat(jnp.arange(T), A), expert.ravel(), gate.ravel(), jnp.repeat(real, A), each=A)
    if capacity is None:
        return routes
    limit = jnp.ceil(capacity * real.sum()).astype(jnp.int32)
    return routes.replace(limit=limit, room=min(T, math.ceil(capacity * T)))


def routes_by_expert(scores: Float[Array, 'T E'], share: float, real: Bool[Array, 'T']) -> Routes:
    """Return the routes chosen by experts: each takes the share of tokens with the highest scores, as gates."""
    T, E = scores.shape
    room, limit = math.ceil(share * T), jnp.ceil(share * real.sum()).astype(jnp.int32)
    _, token = jax.lax.top_k(jnp.where(real, scores.T, -jnp.inf), room)
    gate = jnp.take_along_axis(scores.T, token, axis=-1)
    wanted = jnp.tile(jnp.arange(room) < limit, E)
    return Routes(token.ravel(), jnp.repeat(jnp.arange(E), room), gate.ravel(), wanted, limit, room)


def load(expert: Int[Array, 'T A'], experts: int, real: Bool[Array, 'T']) -> Float[Array, 'E']:
    """Return each expert's share of the routes."""
    counted = jnp.repeat(real, expert.shape[-1]).astype(jnp.float32)
    return jnp.bincount(expert.ravel(), counted, length=experts) / jnp.maximum(counted.sum(), 1)


def balance_loss(scores: Float[Array, 'T E'], share: Float[Array, 'E'], real: Bool[Array, 'T']) -> Total:
    """Return E times the sum over experts of load times mean probability; the load has no gradient.

    It is 1 if either is even.
    """
    probabilities = scores / scores.sum(axis=-1, keepdims=True)
    return of_tokens(scores.shape[-1] * (share * token_mean(probabilities, real)).sum(), real)


def router_z_loss(logits: Float[Array, 'T E'], real: Bool[Array, 'T']) -> Total:
    """Return the mean square, over tokens, of the log of the softmax's denominator."""
    return token_total(jnp.square(jax.nn.logsumexp(logits, axis=-1)), real)
