# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Decoding loop: the newest token of each row goes in, the next one comes out.

It serves language models and sequence-to-sequence models alike: what each has taken in before the first new token is
in its state. All of it is for use inside a compiled program.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Int

from saccade.decode.rules import FREE, TokenRules
from saccade.model.stack import unstacked
from saccade.types import Batch, LayerContext, Logits, Params, PRNGKey, State, Tokens, Written

Step = Callable[[Tokens, Tokens, State], tuple[Logits, State]]


@dataclass(frozen=True)
class Opening:
    """Start of generation: the step, and each row's newest token.

    Attributes:
        step: takes tokens into the state; where their segment is 0, there is none.
        before: the tokens of each row, of which the last is not in the state yet; -1 where there is none.
        ended: rows that nothing is to be written for.
    """

    step: Step
    state: State
    before: Int[Array, 'B T']
    ended: Bool[Array, 'B']


def stepper(model: Any, params: Params) -> Step:
    """Return the step of a model with these parameters, cut into layers once and not at every step."""
    layers = unstacked(params)

    def step(tokens: Tokens, segments: Tokens, state: State) -> tuple[Logits, State]:
        return model.apply({'params': layers}, tokens, segments, state, method='step')

    return step


def after_sources(model: Any, params: Params, batch: Batch, max_tokens: int) -> Opening:
    """Read the sources of a batch, with room for new tokens; a row without a source is ended."""
    source, segments = batch['source'], batch['source_segments']
    context = LayerContext(batch['source_positions'], segments)
    state = model.apply({'params': params}, source, context, max_tokens, method='encode')
    return Opening(stepper(model, params), state, batch['tokens'][:, :1], ~(segments != 0).any(axis=-1))


@struct.dataclass
class _Now:
    """Attributes: the model's state, each row's newest token, what was written, how much of it, and who has ended."""

    state: State
    newest: Int[Array, 'B']
    tokens: Int[Array, 'B M']
    counts: Int[Array, 'B']
    ended: Bool[Array, 'B']
    steps: Int[Array, '']


def write(
    opening: Opening, sampler: Any, max_tokens: int, key: PRNGKey, end: Int[Array, '*B'], rules: TokenRules = FREE
) -> Written:
    """Write until every row has ended or has so many tokens, the one that ends it included.

    Args:
        sampler: takes the logits of a row and a key to a token.
        key: number b of the rows draws its token t with the key folded with b, then t.
        end: the token that ends a row; of each row, or of all.
        rules: constraints on the tokens.
    """
    B = opening.before.shape[0]
    rows = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(B))

    def next_token(now: _Now) -> _Now:
        logits, state = opening.step(now.newest[:, None], (~now.ended)[:, None].astype(jnp.int32), now.state)
        keys = jax.vmap(jax.random.fold_in, (0, None))(rows, now.steps)
        allowed = rules(logits[:, -1], opening.before, now.tokens, now.steps, end)
        newest = jax.vmap(sampler)(allowed, keys).astype(jnp.int32)
        ended = now.ended | rules.are_ends(newest, end)
        tokens = jax.lax.dynamic_update_slice_in_dim(now.tokens, newest[:, None], now.steps, axis=1)
        return _Now(state, newest, tokens, now.counts + ~ended, ended, now.steps + 1)

    written = jax.lax.while_loop(
        lambda now: (now.steps < max_tokens) & ~now.ended.all(),
        next_token,
        _Now(
            state=opening.state,
            newest=opening.before[:, -1],
            tokens=jnp.zeros((B, max_tokens), jnp.int32),
            counts=jnp.zeros(B, jnp.int32),
            ended=opening.ended,
            steps=jnp.zeros((), jnp.int32),
        ),
    )
    return Written(written.tokens, written.counts)
