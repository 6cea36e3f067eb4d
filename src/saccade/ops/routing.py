# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Which expert serves which token, and how evenly.

Letters beside those of the axis table: E experts, A experts a token, R routes. T counts the tokens of all rows.
"""

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int


@struct.dataclass
class Routes:
    """Pairs of a token and an expert that is to serve it.

    Attributes:
        token, expert: of each pair.
        gate: what the expert's output is multiplied by.
        room: the most pairs that one expert serves, those that stand first; None for as many as there are.
    """

    token: Int[Array, 'R']
    expert: Int[Array, 'R']
    gate: Float[Array, 'R']
    room: int | None = struct.field(pytree_node=False, default=None)


def routes_by_token(expert: Int[Array, 'T A'], gate: Float[Array, 'T A'], room: int | None) -> Routes:
    """Line up the choices of the tokens, in the order of the tokens."""
    T, A = expert.shape
    return Routes(jnp.repeat(jnp.arange(T), A), expert.ravel(), gate.ravel(), room)


def routes_by_expert(scores: Float[Array, 'T E'], count: int) -> Routes:
    """Let every expert take the `count` tokens that score highest with it; the scores are the gates."""
    gate, token = jax.lax.top_k(scores.T, count)
    return Routes(token.ravel(), jnp.repeat(jnp.arange(scores.shape[-1]), count), gate.ravel(), count)


def load(expert: Int[Array, '*routes'], experts: int) -> Float[Array, 'E']:
    """Return the share of the routes that each expert has."""
    return jnp.bincount(expert.ravel(), length=experts) / expert.size


def balance_loss(scores: Float[Array, 'T E'], share: Float[Array, 'E']) -> Float[Array, '']:
    """E times the sum over experts of load by mean probability: 1 where either is even. The load has no gradient."""
    probabilities = scores / scores.sum(axis=-1, keepdims=True)
    return scores.shape[-1] * (share * probabilities.mean(axis=0)).sum()


def router_z_loss(logits: Float[Array, 'T E']) -> Float[Array, '']:
    """Mean square of the log of the softmax's denominator."""
    return jnp.square(jax.nn.logsumexp(logits, axis=-1)).mean()
