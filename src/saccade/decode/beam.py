# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Beam search: keep the K most probable hypotheses at each step.

    score(Y) = log p(Y | X) / lp(Y),   lp(Y) = ((5 + |Y|) / 6)^α        |Y| in tokens, the end token included

Wu et al. 2016, "Google's Neural Machine Translation System", equation 14, https://arxiv.org/abs/1609.08144, without the
coverage penalty. A hypothesis is finished when its end token is among the K best candidates of a step. With several
groups, later groups choose by log p minus λ for each hypothesis of an earlier group that took the same token at this
step (Vijayakumar et al. 2018, "Diverse Beam Search", section 3, https://arxiv.org/abs/1610.02424); scores exclude this
term. Ties: the candidate of the better beam, then the lower token; of finished texts, the earlier one. Cost: a step of
K B rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from einops import rearrange, repeat
from flax import struct
from jaxtyping import Array, Bool, Float, Int, PyTree

from saccade.decode.generate import NO_TOKEN, after_prompts, laid_out
from saccade.decode.loop import Opening, after_sources
from saccade.decode.rules import FREE, TokenRules
from saccade.types import (
    Batch,
    Count,
    CountOrZero,
    DecodedTokens,
    LanguageModel,
    NotNegative,
    Params,
    Seq2Seq,
    State,
    Tokens,
    UserError,
    require_positive,
)

__all__ = ['Beam']


@struct.dataclass
class Hypotheses:
    """Hypotheses of each row, the best first.

    Attributes:
        tokens: token ids; entries after the first `counts` are undefined.
        counts: number of tokens before the end token, or the maximum length.
        scores: log p, or scores; -inf if there is no hypothesis.
    """

    tokens: Int[Array, 'B K M']
    counts: Int[Array, 'B K']
    scores: Float[Array, 'B K']

    def at(self, places: Int[Array, 'B J']) -> 'Hypotheses':
        """Return the hypotheses at these indices of each row."""
        return jax.tree.map(lambda leaf: _picked(leaf, places), self)

    def best(self, count: int) -> 'Hypotheses':
        """Return the `count` hypotheses with the highest scores."""
        return self.at(jax.lax.top_k(self.scores, count)[1])

    def joined(self, others: 'Hypotheses') -> 'Hypotheses':
        """Return these hypotheses followed by others."""
        return jax.tree.map(lambda *leaves: jnp.concatenate(leaves, axis=1), self, others)


@struct.dataclass
class _Now:
    """State of the search.

    Attributes:
        state: the model's state, for all beams.
        newest: last token of each beam, not yet in the state.
        live, finished: unfinished and finished hypotheses of each group.
        done: True for rows whose search has ended.
        steps: number of tokens decoded so far.
    """

    state: State
    newest: Int[Array, 'B K']
    live: tuple[Hypotheses, ...]
    finished: tuple[Hypotheses, ...]
    done: Bool[Array, 'B']
    steps: Int[Array, '']


@dataclass(frozen=True)
class Beam:
    """Beam search.

    Attributes:
        beams: number of beams over all groups (K).
        alpha: exponent of the length penalty; 0 for none.
        early_stopping: end a row's search at K finished hypotheses; otherwise when no live hypothesis can still score
            higher than the worst of K, at any length.
        max_tokens: maximum number of new tokens per row, including the end token; 0 for the model's context.
        groups: number of groups of beams, which select candidates separately.
        diversity: λ, in nats.
        rules: constraints on the tokens.
    """

    beams: Count
    alpha: NotNegative = 0.0
    early_stopping: bool = True
    max_tokens: CountOrZero = 0
    groups: Count = 1
    diversity: NotNegative = 0.0
    rules: TokenRules = FREE

    def __post_init__(self) -> None:
        require_positive('decode.beam:Beam', beams=self.beams, groups=self.groups)
        if self.beams % self.groups:
            raise UserError(f'decode.beam:Beam: {self.beams} beams do not divide into {self.groups} groups')
        if self.alpha < 0 or self.diversity < 0:
            raise UserError('decode.beam:Beam: alpha and diversity must be at least 0')

    def __call__(self, model: Seq2Seq, params: Params, batch: Batch) -> DecodedTokens:
        """Generate the best hypothesis for each row of a batch."""
        found = self.translations(model, params, batch)
        return DecodedTokens(found.tokens[:, 0], found.counts[:, 0])

    def translations(self, model: Seq2Seq, params: Params, batch: Batch) -> Hypotheses:
        """Return K hypotheses for each row of a batch."""
        most = self.max_tokens or model.context_length
        return self.search(after_sources(model, params, batch, most), most, batch['end'])

    def search(self, opening: Opening, most: int, end: Int[Array, '*B']) -> Hypotheses:
        """Return K hypotheses of at most `most` tokens for each row; for use inside a compiled program."""
        B, K = opening.before.shape[0], self._each
        end = jnp.broadcast_to(end, (B,))
        empty = Hypotheses(
            tokens=jnp.zeros((B, K, most), jnp.int32),
            counts=jnp.zeros((B, K), jnp.int32),
            scores=jnp.full((B, K), -jnp.inf, jnp.float32),
        )
        begun = empty.replace(scores=empty.scores.at[:, 0].set(0.0))  # a single live beam, or all beams would be equal
        now = _Now(
            state=jax.tree.map(lambda leaf: repeat(leaf, 'B ... -> (B K) ...', K=self.beams), opening.state),
            newest=repeat(opening.before[:, -1], 'B -> B K', K=self.beams),
            live=self.groups * (begun,),
            finished=self.groups * (empty,),
            done=opening.ended,
            steps=jnp.zeros((), jnp.int32),
        )
        now = jax.lax.while_loop(
            lambda now: (now.steps < most) & ~now.done.all(), partial(self._advance, opening, end), now
        )
        # Hypotheses without an end token at the maximum length are accepted.
        unfinished = [self._penalised(live, live.counts, ~now.done) for live in now.live]
        pools = [pool.joined(rest).best(self._each) for pool, rest in zip(now.finished, unfinished, strict=True)]
        return jax.tree.map(lambda *leaves: jnp.concatenate(leaves, axis=1), *pools).best(self.beams)

    @property
    def _each(self) -> int:
        """Number of beams per group."""
        return self.beams // self.groups

    def _advance(self, opening: Opening, end: Int[Array, 'B'], now: _Now) -> _Now:
        segments = repeat(~now.done, 'B -> (B K) 1', K=self.beams).astype(jnp.int32)
        logits, state = opening.step(rearrange(now.newest, 'B K -> (B K) 1'), segments, now.state)
        log_p = jax.nn.log_softmax(logits[:, -1].astype(jnp.float32), axis=-1)
        log_p = rearrange(log_p, '(B G K) V -> G B K V', G=self.groups, K=self._each)
        live, finished, origins, tokens = [], [], [], []
        taken = jnp.zeros((now.done.shape[0], log_p.shape[-1]))
        for group in range(self.groups):
            allowed = self._allowed(log_p[group], opening.before, now.live[group], now.steps, end)
            found = self._chosen(allowed, taken, now.live[group], now.steps, end)
            live.append(found.live)
            pool = now.finished[group].joined(self._penalised(found.ended, found.ended.counts + 1, ~now.done))
            finished.append(pool.best(self._each))
            origins.append(found.origins + group * self._each)
            tokens.append(found.tokens)
            taken = taken + self._counted(found, log_p.shape[-1])
        order = jnp.concatenate(origins, axis=1)
        return _Now(
            state=_reordered(state, order),
            newest=jnp.concatenate(tokens, axis=1),
            live=tuple(live),
            finished=tuple(finished),
            done=now.done | self._is_done(live, finished, now.live[0].tokens.shape[-1]),
            steps=now.steps + 1,
        )

    def _allowed(
        self, log_p: Float[Array, 'B K V'], before: Int[Array, 'B T'], live: Hypotheses, at: Int[Array, ''], end: Any
    ) -> Float[Array, 'B K V']:
        """Return the log-probabilities of each beam's next token, -inf where the rules forbid it."""
        rules = jax.vmap(self.rules, (1, None, 1, None, None), 1)
        return rules(log_p, before, live.tokens, at, end)

    def _chosen(
        self, log_p: Float[Array, 'B K V'], taken: Float[Array, 'B V'], live: Hypotheses, at: Int[Array, ''], end: Any
    ) -> '_Choice':
        """Select the K best candidates that continue, and the ones among the K best that end."""
        _, K, V = log_p.shape
        whole = rearrange(live.scores[..., None] + log_p, 'B K V -> B (K V)')
        chosen_by = whole - self.diversity * jnp.tile(taken, (1, K))
        ways = 2 + len(self.rules.ends)  # in each beam, all end tokens may rank above the K that continue
        _, places = jax.lax.top_k(chosen_by, min(ways * K, K * V))
        origins, tokens, scores = places // V, places % V, _picked(whole, places)
        ends = self.rules.are_ends(tokens, end[:, None])
        candidates = live.at(origins).replace(scores=scores)
        written = candidates.tokens.at[:, :, at].set(tokens)
        ended = candidates.replace(scores=jnp.where(ends, scores, -jnp.inf))
        on = jax.lax.top_k(jnp.where(ends, -jnp.inf, _picked(chosen_by, places)), K)[1]
        kept = candidates.replace(
            tokens=written, counts=candidates.counts + 1, scores=jnp.where(ends, -jnp.inf, scores)
        ).at(on)
        among_best = jax.tree.map(lambda leaf: leaf[:, :K], ended)
        return _Choice(kept, among_best, _picked(origins, on), _picked(tokens, on), tokens[:, :K])

    def _counted(self, found: '_Choice', V: int) -> Float[Array, 'B V']:
        """Count the hypotheses of a group that took each token at this step, including end tokens."""
        ended = (found.ended.scores > -jnp.inf)[..., None] * jax.nn.one_hot(found.last, V)
        return (jax.nn.one_hot(found.tokens, V) + ended).sum(axis=1)

    def _penalised(self, texts: Hypotheses, lengths: Int[Array, 'B K'], rows: Bool[Array, 'B']) -> Hypotheses:
        """Divide the scores by the length penalty; set the scores of rows outside `rows` to -inf."""
        scores = texts.scores / self._penalty(lengths)
        return texts.replace(scores=jnp.where(rows[:, None], scores, -jnp.inf))

    def _penalty(self, lengths: Any) -> Any:
        return ((5.0 + lengths) / 6.0) ** self.alpha

    def _is_done(self, live: list[Hypotheses], finished: list[Hypotheses], most: int) -> Bool[Array, 'B']:
        worst = jnp.stack([texts.scores[:, -1] for texts in finished])
        if self.early_stopping:
            return (worst > -jnp.inf).all(axis=0)
        # log p only falls, and the penalty is largest at the maximum length.
        hoped = jnp.stack([texts.scores.max(axis=-1) for texts in live]) / self._penalty(most)
        return (worst >= hoped).all(axis=0)


@struct.dataclass
class _Choice:
    """Selection at a step.

    Attributes: live and ended hypotheses; beam and newest token of each live one; last, the end token of each other.
    """

    live: Hypotheses
    ended: Hypotheses
    origins: Int[Array, 'B K']
    tokens: Int[Array, 'B K']
    last: Int[Array, 'B K']


def generate_beams(
    model: LanguageModel,
    params: Params,
    prompts: Sequence[Sequence[int]],
    beam: Beam,
    max_tokens: int,
    end: int | None = None,
) -> list[list[tuple[list[int], float]]]:
    """Return the K best continuations of each prompt, without the end token, and their scores in nats.

    Raises:
        UserError: a prompt and `max_tokens` do not fit the context, or a token is not in the vocabulary.
    """
    tokens, lengths = laid_out(model, prompts, max_tokens, end)
    if not len(tokens):
        return []
    stop = np.int32(NO_TOKEN if end is None else end)
    found = jax.device_get(_continue(model, beam, max_tokens, params, tokens, lengths, stop))
    return [
        [(ids[:count].tolist(), float(score)) for ids, count, score in zip(*row, strict=True) if np.isfinite(score)]
        for row in zip(found.tokens, found.counts, found.scores, strict=True)
    ]


@partial(jax.jit, static_argnums=(0, 1, 2))
def _continue(
    model: Any, beam: Beam, max_tokens: int, params: Params, tokens: Tokens, lengths: Array, end: Int[Array, '']
) -> Hypotheses:
    return beam.search(after_prompts(model, params, tokens, lengths, max_tokens), max_tokens, end)


def _picked(values: Array, places: Int[Array, 'B J']) -> Array:
    """Return the values at these indices of axis 1."""
    return jax.vmap(lambda row, at: row[at])(values, places)


def _reordered(state: PyTree, order: Int[Array, 'B K']) -> PyTree:
    """Reorder the state to the selected beams, [B K], given by index within the row."""
    K = order.shape[1]
    flat = rearrange(order + K * jnp.arange(order.shape[0])[:, None], 'B K -> (B K)')
    return jax.tree.map(lambda leaf: jnp.take(leaf, flat, axis=0), state)
