# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Decoding loop: feed the newest token of each row, and generate the next.

It serves language models and sequence-to-sequence models, whose prompt or source is in the state already. All functions
are for use inside a compiled program.
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
from saccade.types import Batch, DecodedTokens, LayerContext, Logits, Params, PRNGKey, State, Tokens

Step = Callable[[Tokens, Tokens, State], tuple[Logits, State]]


@dataclass(frozen=True)
class Opening:
    """Start of generation: the step, the state, and the tokens so far.

    Attributes:
        step: feeds tokens to the model; positions with segment 0 are padding.
        before: tokens of each row, the last of them not yet in the state; -1 for padding.
        ended: True for rows that generate nothing.
    """

    step: Step
    state: State
    before: Int[Array, 'B T']
    ended: Bool[Array, 'B']


def stepper(model: Any, params: Params) -> Step:
    """Return the step of a model with these parameters, which are split into layers once instead of at every step."""
    return unstacked_stepper(model, unstacked(params))


def unstacked_stepper(model: Any, layers: Params) -> Step:
    """Return the step of a model with parameters that are `unstacked`."""

    def step(tokens: Tokens, segments: Tokens, state: State) -> tuple[Logits, State]:
        return model.apply({'params': layers}, tokens, segments, state, method='step')

    return step


def after_sources(model: Any, params: Params, batch: Batch, max_tokens: int) -> Opening:
    """Encode the sources of a batch, with room for new tokens; a row without a source is ended."""
    source, segments = batch['source'], batch['source_segments']
    context = LayerContext(batch['source_positions'], segments)
    state = model.apply({'params': params}, source, context, max_tokens, method='encode')
    return Opening(stepper(model, params), state, batch['tokens'][:, :1], ~(segments != 0).any(axis=-1))


@struct.dataclass
class Writing:
    """State of the decoding loop.

    Attributes: the model's state; each row's newest token; new tokens and their number; ended rows; steps.
    """

    state: State
    newest: Int[Array, 'B']
    tokens: Int[Array, 'B M']
    counts: Int[Array, 'B']
    ended: Bool[Array, 'B']
    steps: Int[Array, '']

    @classmethod
    def after(cls, state: State, newest: Int[Array, 'B'], ended: Bool[Array, 'B'], max_tokens: int) -> 'Writing':
        """Return the loop before its first step, with room for `max_tokens` tokens."""
        counts = jnp.zeros(ended.shape, jnp.int32)
        return cls(state, newest, jnp.zeros((*ended.shape, max_tokens), jnp.int32), counts, ended, jnp.int32(0))


def write(
    opening: Opening, sampler: Any, max_tokens: int, key: PRNGKey, end: Int[Array, '*B'], rules: TokenRules = FREE
) -> DecodedTokens:
    """Generate until every row has ended or has `max_tokens` tokens, including the end token.

    Args:
        sampler, key, end, rules: as for `advance`.
    """
    start = Writing.after(opening.state, opening.before[:, -1], opening.ended, max_tokens)
    written = advance(opening.step, opening.before, start, sampler, max_tokens, key, end, rules)
    return DecodedTokens(written.tokens, written.counts)


def advance(
    step: Step,
    before: Int[Array, 'B T'],
    now: Writing,
    sampler: Any,
    until: Int[Array, ''] | int,
    key: PRNGKey,
    end: Int[Array, '*B'],
    rules: TokenRules = FREE,
) -> Writing:
    """Run the loop until every row has ended or `until` steps are made.

    Args:
        before: tokens of each row before the first step, as in `Opening`.
        sampler: samples a token from a row's logits and a key.
        key: row b samples its token t with the key folded with b, then t.
        end: token that ends a row, for each row or for all.
        rules: constraints on the tokens.
    """
    rows = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(before.shape[0]))

    def next_token(now: Writing) -> Writing:
        logits, state = step(now.newest[:, None], (~now.ended)[:, None].astype(jnp.int32), now.state)
        keys = jax.vmap(jax.random.fold_in, (0, None))(rows, now.steps)
        allowed = rules(logits[:, -1], before, now.tokens, now.steps, end)
        newest = jax.vmap(sampler)(allowed, keys).astype(jnp.int32)
        ended = now.ended | rules.are_ends(newest, end)
        tokens = jax.lax.dynamic_update_slice_in_dim(now.tokens, newest[:, None], now.steps, axis=1)
        return Writing(state, newest, tokens, now.counts + ~ended, ended, now.steps + 1)

    return jax.lax.while_loop(lambda now: (now.steps < until) & ~now.ended.all(), next_token, now)
