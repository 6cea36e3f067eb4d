# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Autoregressive generation: continue prompts, token by token, in one compiled program.

All but the last token of each prompt enter the model's state, in chunks (prefill); then a loop feeds the newest token
of every row and samples the next, until each row has ended. A row's tokens depend on its prompt, its index and the key,
and not on the other rows.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from saccade.decode.loop import Opening, stepper, write
from saccade.decode.rules import FREE, TokenRules
from saccade.decode.sampling import Sampler
from saccade.types import LanguageModel, Params, PRNGKey, State, Tokens, UserError

CHUNK = 64  # tokens per row and prefill step
NO_TOKEN = -1  # end token of rows without one


def generate(
    model: LanguageModel,
    params: Params,
    prompts: Sequence[Sequence[int]],
    sampler: Sampler,
    max_tokens: int,
    key: PRNGKey,
    end: int | None = None,
    rules: TokenRules = FREE,
) -> list[list[int]]:
    """Return the new tokens of each row, without the end token.

    An empty prompt is replaced by the end token, which starts documents in training; without an end token by token 0,
    since a model cannot predict the first token from nothing.

    Args:
        max_tokens: maximum number of new tokens, including the end token.
        key: row b samples its token t with the key folded with b, then t.
        end: token that ends a row.
        rules: constraints on the tokens.

    Raises:
        UserError: a prompt and `max_tokens` do not fit the context, or a token is not in the vocabulary.
    """
    tokens, lengths = laid_out(model, prompts, max_tokens, end)
    if not len(tokens):
        return []
    stop = np.int32(NO_TOKEN if end is None else end)
    written, counts = jax.device_get(
        continued(model, sampler, max_tokens, params, tokens, lengths, key, stop, rules=rules)
    )
    return [row[:count].tolist() for row, count in zip(written, counts, strict=True)]


def laid_out(
    model: LanguageModel, prompts: Sequence[Sequence[int]], max_tokens: int, end: int | None
) -> tuple[Int[np.ndarray, 'B T'], Int[np.ndarray, 'B']]:
    """Return left-padded prompts, with a start token in empty ones, and their lengths.

    Raises:
        UserError: a prompt and `max_tokens` do not fit the context, or a token is not in the vocabulary.
    """
    prompts = accepted(model, prompts, max_tokens, end)
    lengths = np.array([len(prompt) for prompt in prompts], np.int32)
    return _left_padded(prompts, min(CHUNK, model.context_length)), lengths


def accepted(
    model: LanguageModel, prompts: Sequence[Sequence[int]], max_tokens: int, end: int | None
) -> list[list[int]]:
    """Return the prompts, with a start token in empty ones.

    Raises:
        UserError: as for `laid_out`.
    """
    prompts = [list(prompt) or [0 if end is None else end] for prompt in prompts]
    if max_tokens < 1:
        raise UserError(f'max_tokens: must be at least 1, not {max_tokens}')
    for prompt in prompts:
        room = model.context_length - len(prompt)
        if room < 1:
            raise UserError(
                f'a prompt of {len(prompt)} tokens leaves no room in the context of {model.context_length}; '
                f'shorten it to {model.context_length - 1} tokens at most'
            )
        if max_tokens > room:
            raise UserError(
                f'a prompt of {len(prompt)} tokens and max_tokens of {max_tokens} do not fit the context of '
                f'{model.context_length}; set max_tokens to {room} at most, or shorten the prompt'
            )
        unknown = next((token for token in prompt if not 0 <= token < model.vocabulary), None)
        if unknown is not None:
            raise UserError(
                f'token {unknown} of the prompt is not in the vocabulary of the model, which has '
                f'{model.vocabulary} tokens; was it trained with another tokenizer?'
            )
    return prompts


def _left_padded(prompts: Sequence[Sequence[int]], chunk: int) -> Int[np.ndarray, 'B T']:
    """Return the prompts, aligned at the last token and padded to a power of two of chunks: few widths are compiled."""
    longest = max(map(len, prompts), default=1) - 1
    chunks = 1 << max(0, -(-longest // chunk) - 1).bit_length()
    tokens = np.zeros((len(prompts), chunks * chunk + 1), np.int32)
    for row, prompt in zip(tokens, prompts, strict=True):
        row[-len(prompt) :] = prompt
    return tokens


@partial(jax.jit, static_argnums=(0, 1, 2), static_argnames='rules')
def continued(
    model: Any,
    sampler: Sampler,
    max_tokens: int,
    params: Params,
    tokens: Tokens,
    lengths: Int[Array, 'B'],
    key: PRNGKey,
    end: Int[Array, ''],
    rules: TokenRules = FREE,
) -> tuple[Int[Array, 'B M'], Int[Array, 'B']]:
    """Return the new tokens of each row, and the number of them before its end."""
    opening = after_prompts(model, params, tokens, lengths, max_tokens)
    written = write(opening, sampler, max_tokens, key, end, rules)
    return written.tokens, written.counts


def after_prompts(model: Any, params: Params, tokens: Tokens, lengths: Int[Array, 'B'], max_tokens: int) -> Opening:
    """Prefill: put all but the last token of left-padded prompts into a model's state, with room for new tokens."""
    T = tokens.shape[1]
    step = stepper(model, params)
    state = model.apply({'params': params}, tokens, T - 1 + max_tokens, method='init_state')
    chunk = math.gcd(T - 1, min(CHUNK, model.context_length))  # rows may be laid out for another model, with its chunk
    state = _read(step, tokens[:, :-1], lengths - 1, chunk, state)
    before = jnp.where(jnp.arange(T) >= T - lengths[:, None], tokens, -1)
    return Opening(step, state, before, jnp.zeros(tokens.shape[0], bool))


def _read(step: Any, tokens: Tokens, lengths: Int[Array, 'B'], chunk: int, state: State) -> State:
    """Put left-padded tokens into the state; chunks that are padding in every row are skipped."""
    T = tokens.shape[1]
    segments = (jnp.arange(T) >= T - lengths[:, None]).astype(jnp.int32)

    def take(number: Int[Array, ''], state: State) -> State:
        part = (jax.lax.dynamic_slice_in_dim(x, number * chunk, chunk, axis=1) for x in (tokens, segments))
        return step(*part, state)[1]

    return jax.lax.fori_loop((T - lengths.max()) // chunk, T // chunk, take, state)
