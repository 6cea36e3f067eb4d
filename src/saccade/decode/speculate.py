# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Speculative decoding: a small model drafts K tokens, and one pass of the large model checks them.

    x ~ q is kept with probability min(1, p(x) / q(x));   the first x that is not: x ~ max(p - q, 0), normalised

p and q are the sampling distributions of the large model and of the draft. The tokens have the distribution of the
large model alone; at temperature 0 they are its tokens. Leviathan et al. 2022, algorithm 1,
https://arxiv.org/abs/2211.17192; Chen et al. 2023, https://arxiv.org/abs/2302.01318. Each round adds 1 to K + 1 tokens.

Rejected tokens must leave the state. From a KV cache with a slot for every token they are taken out again. Any other
state is computed again from that before the round, with rejected tokens as padding, which changes no state: a second
pass. A state that grows in another way is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from jaxtyping import Array, Bool, Float, Int

from saccade.attention.cache import Cache, rewrites
from saccade.decode.generate import NO_TOKEN, after_prompts, laid_out
from saccade.decode.loop import Step
from saccade.decode.rules import FREE, TokenRules
from saccade.decode.sampling import Choices, Sampler
from saccade.model.decoder import DecoderState
from saccade.types import LanguageModel, Params, Part, PRNGKey, Tokens, UserError


@dataclass(frozen=True, eq=False)
class Draft:
    """Model that drafts, with the tokenizer of the large model. Attributes: tokens, number drafted in a round (K)."""

    model: LanguageModel
    params: Params
    tokens: int = 4

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise UserError(f'draft_tokens: must be at least 1, not {self.tokens}')


@dataclass(frozen=True)
class DraftUsage:
    """Counts over all texts.

    Attributes: rounds; drafted, number of drafted tokens that the texts had room for; kept, those in the texts.
    """

    rounds: int
    drafted: int
    kept: int

    def __str__(self) -> str:
        return f'draft: {self.kept} of {self.drafted} tokens kept; rounds: {self.rounds}'


@struct.dataclass
class _Drafting:
    """State of the loop of one row.

    Attributes: states of both models, without the newest token; new tokens and their number; counts as in DraftUsage.
    """

    large: DecoderState
    small: DecoderState
    newest: Int[Array, '']
    tokens: Int[Array, 'X']
    count: Int[Array, '']
    ended: Bool[Array, '']
    rounds: Int[Array, '']
    drafted: Int[Array, '']
    kept: Int[Array, '']


@dataclass(frozen=True)
class _Settings:
    """Compiled settings. Attributes: drafted, tokens of a round (K); most, maximum number of new tokens (M)."""

    sampler: Sampler
    drafted: int
    most: int
    rules: TokenRules


def generate_drafted(
    model: LanguageModel,
    params: Params,
    draft: Draft,
    prompts: Sequence[Sequence[int]],
    sampler: Sampler,
    max_tokens: int,
    key: PRNGKey,
    end: int | None = None,
    rules: TokenRules = FREE,
) -> tuple[list[list[int]], DraftUsage]:
    """Return new tokens with the distribution of those of `decode.generate:generate`, and counts of drafted tokens.

    Args:
        model, params, prompts, sampler, max_tokens, key, end: as for `generate`; equal keys give other samples.
        rules: only further end tokens.

    Raises:
        UserError: as for `generate`, of either model; they have other numbers of tokens; a state keeps rejected
            tokens; or the rules constrain more than the end.
    """
    if rules != TokenRules(ends=rules.ends):
        raise UserError('a draft cannot be checked under rules on tokens, which the folder has; decode without a draft')
    if model.vocabulary != draft.model.vocabulary:
        raise UserError(
            f'the draft has {draft.model.vocabulary} tokens, and the model {model.vocabulary}; they need one tokenizer'
        )
    tokens, lengths = laid_out(model, prompts, max_tokens, end)
    laid_out(draft.model, prompts, max_tokens, end)  # refuses prompts that are too long for it
    if not len(tokens):
        return [], DraftUsage(0, 0, 0)
    settings = _Settings(sampler, draft.tokens, max_tokens, rules)
    stop = np.int32(NO_TOKEN if end is None else end)
    pair = (model, draft.model), (params, draft.params)
    written, counts, *usage = jax.device_get(_drafted(*pair, settings, tokens, lengths, key, stop))
    rows = [row[:count].tolist() for row, count in zip(written, counts, strict=True)]
    return rows, DraftUsage(*(int(each.sum()) for each in usage))


@partial(jax.jit, static_argnums=(0, 2))
def _drafted(
    models: tuple[Any, Any],
    params: tuple[Params, Params],
    settings: _Settings,
    tokens: Tokens,
    lengths: Int[Array, 'B'],
    key: PRNGKey,
    end: Int[Array, ''],
) -> tuple[Int[Array, 'B M'], Int[Array, 'B'], Int[Array, 'B'], Int[Array, 'B'], Int[Array, 'B']]:
    """Return the new tokens of each row, their number, and the counts of DraftUsage."""
    room = settings.most + settings.drafted + 1
    openings = [after_prompts(*each, tokens, lengths, room) for each in zip(models, params, strict=True)]
    capacity = tokens.shape[1] - 1 + room
    large, small = (
        _Rewinding(opening.step, _rewindable(*each, tokens, capacity))
        for opening, *each in zip(openings, models, params, strict=True)
    )
    rows = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(len(tokens)))

    def row(states: tuple[DecoderState, DecoderState], newest: Int[Array, ''], key: PRNGKey) -> _Drafting:
        zero = jnp.int32(0)
        empty = jnp.zeros(room, jnp.int32), zero, jnp.bool_(False)
        start = _Drafting(*_batched(states), newest, *empty, rounds=zero, drafted=zero, kept=zero)
        return jax.lax.while_loop(
            lambda now: ~now.ended & (now.count < settings.most),
            lambda now: _round(large, small, settings, now, key, end),
            start,
        )

    done = jax.vmap(row)(tuple(opening.state for opening in openings), tokens[:, -1], rows)
    counts = jnp.minimum(done.count, settings.most), done.rounds, done.drafted, done.kept
    return done.tokens[:, : settings.most], *counts


@dataclass(frozen=True)
class _Rewinding:
    """Step of a model, whose tokens can be taken out of its state. Attributes: rewindable, by node of it (`_nodes`)."""

    step: Step
    rewindable: Sequence[bool]

    def kept(self, before: DecoderState, after: DecoderState, chunk: Tokens, count: Int[Array, '']) -> DecoderState:
        """Return the state after the first `count` tokens of a chunk, from those before and after all of it."""
        size = chunk.shape[1]
        nodes, structure = _nodes(after.layers)
        rewound = [
            node.rewound(size - count) if alone else None for node, alone in zip(nodes, self.rewindable, strict=True)
        ]
        if all(self.rewindable):
            return after.replace(layers=structure.unflatten(rewound), position=before.position + count)
        again = self.step(chunk, (jnp.arange(size) < count)[None].astype(jnp.int32), before)[1]
        computed, _ = _nodes(again.layers)
        layers = [old if new is None else new for new, old in zip(rewound, computed, strict=True)]
        return again.replace(layers=structure.unflatten(layers))


def _round(
    large: _Rewinding, small: _Rewinding, settings: _Settings, now: _Drafting, key: PRNGKey, end: Int[Array, '']
) -> _Drafting:
    """Draft, check, and add the kept tokens and one more."""
    K, sampler = settings.drafted, settings.sampler
    *keys, to_keep, to_add = jax.random.split(jax.random.fold_in(key, now.rounds), K + 3)
    room = settings.most - now.count
    needed = (jnp.arange(K + 1) < room).astype(jnp.int32)  # others would leave the context

    def propose(
        carry: tuple[Int[Array, ''], DecoderState], given: tuple[PRNGKey, Int[Array, '']]
    ) -> tuple[tuple[Int[Array, ''], DecoderState], tuple[Int[Array, ''], Float[Array, 'V']]]:
        token, state = carry
        key, real = given
        logits, state = small.step(token[None, None], real[None, None], state)
        q = _probabilities(sampler, logits[0, -1])
        token = _drawn(q, key)
        return (token, state), (token, q)

    # The last token is drafted only to put the one before it into the state.
    (_, after_small), (drafted, q) = jax.lax.scan(propose, (now.newest, now.small), (jnp.stack(keys), needed))
    chunk = jnp.concatenate([now.newest[None], drafted[:-1]])[None]
    logits, after_large = large.step(chunk, needed[None], now.large)
    p = _probabilities(sampler, logits[0])
    kept = _kept(p, q, drafted[:-1], to_keep)
    surplus = jnp.maximum(p[kept] - jnp.where(kept < K, q[kept], 0.0), 0.0)
    added = _drawn(jnp.where(surplus.sum() > 0, surplus, p[kept]), to_add)  # no surplus: p equals q, but for rounding
    new = jnp.where(jnp.arange(K + 1) < kept, drafted, added)
    ends = settings.rules.are_ends(new, end) & (jnp.arange(K + 1) <= kept)
    count = jnp.where(ends.any(), jnp.argmax(ends), kept + 1).astype(jnp.int32)
    return _Drafting(
        large.kept(now.large, after_large, chunk, kept + 1),
        small.kept(now.small, after_small, chunk, kept + 1),
        added,
        jax.lax.dynamic_update_slice_in_dim(now.tokens, new, now.count, axis=0),
        now.count + count,
        ends.any(),
        now.rounds + 1,
        now.drafted + jnp.minimum(K, room),
        now.kept + jnp.minimum(kept, jnp.minimum(count, room)),
    )


def _kept(p: Float[Array, 'X V'], q: Float[Array, 'X V'], drafted: Int[Array, 'K'], key: PRNGKey) -> Int[Array, '']:
    """Return the number of drafted tokens before the first that is rejected."""
    of_p, of_q = (jnp.take_along_axis(each[:-1], drafted[:, None], axis=1)[:, 0] for each in (p, q))
    return jnp.cumprod(jax.random.uniform(key, drafted.shape) * of_q < of_p, dtype=jnp.int32).sum()


def _probabilities(sampler: Sampler, logits: Choices) -> Choices:
    """Return the distribution that a sampler draws from; at temperature 0, one for the most probable token."""
    if sampler.temperature == 0:
        return jax.nn.one_hot(jnp.argmax(logits, axis=-1), logits.shape[-1])
    return jax.nn.softmax(sampler.filtered(logits), axis=-1)


def _drawn(probabilities: Float[Array, 'V'], key: PRNGKey) -> Int[Array, '']:
    return jax.random.categorical(key, jnp.log(probabilities)).astype(jnp.int32)


def _batched(states: tuple[DecoderState, DecoderState]) -> tuple[DecoderState, DecoderState]:
    """Add a batch axis of size 1 to the states of a row."""
    return jax.tree.map(lambda leaf: leaf[None], states)


def _nodes(layers: Any) -> tuple[list[Any], Any]:
    """Return the nodes of states, and their structure: KV caches, states that change theirs, and other leaves."""
    return jax.tree.flatten(layers, is_leaf=lambda node: isinstance(node, Cache) or rewrites(node))


def _rewindable(model: Any, params: Params, tokens: Tokens, capacity: int) -> tuple[bool, ...]:
    """Return True for each node of the layers' states that is a KV cache with a slot for every token.

    Raises:
        UserError: another node grows with the number of tokens, so padding would stay in it.
    """

    def nodes(capacity: int) -> list[Any]:
        state = jax.eval_shape(lambda: model.apply({'params': params}, tokens, capacity, method='init_state'))
        if not isinstance(state, DecoderState):
            raise UserError(f'{Part(type(model)).name} cannot decode with a draft, nor as one: it is no decoder')
        return _nodes(state.layers)[0]

    found = []
    for node, wider in zip(nodes(capacity), nodes(capacity + 1), strict=True):
        grows = jax.tree.map(jnp.shape, node) != jax.tree.map(jnp.shape, wider)
        if grows and not isinstance(node, Cache):
            raise UserError(
                f'{Part(type(model)).name} cannot decode with a draft, nor as one: a state keeps rejected tokens'
            )
        found.append(grows)
    return tuple(found)
