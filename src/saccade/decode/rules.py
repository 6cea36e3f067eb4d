# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Token rules: tokens that end a text, and tokens that are forced or forbidden while it is generated.

They follow `GenerationConfig` in transformers, in the order of its logits processors: `bad_words_ids`, `min_length`,
`min_new_tokens`, `forced_bos_token_id`, `forced_eos_token_id`, `suppress_tokens` and `begin_suppress_tokens`. A later
rule overrides an earlier one.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


@dataclass(frozen=True)
class TokenRules:
    """Constraints on generated tokens.

    Attributes:
        ends: tokens that end a text, in addition to the end token.
        bad_words: forbidden sequences of tokens; one may begin in the prompt.
        min_length: minimum length of prompt and new tokens before an end.
        min_new_tokens: minimum number of new tokens before an end.
        first: forced token after a single token, such as the first token of a target; None for any.
        last: forced choice of tokens at the maximum length; empty for any.
        never: tokens that are never generated.
        never_first: tokens that are not generated first, or second where `first` is forced.
    """

    ends: tuple[int, ...] = ()
    bad_words: tuple[tuple[int, ...], ...] = ()
    min_length: int = 0
    min_new_tokens: int = 0
    first: int | None = None
    last: tuple[int, ...] = ()
    never: tuple[int, ...] = ()
    never_first: tuple[int, ...] = ()

    def are_ends(self, tokens: Int[Array, '*B'], end: Int[Array, '...']) -> Bool[Array, '...']:
        """Return True for tokens that end their text, by the end token or by these rules; `end` is broadcast."""
        ended = tokens == end
        return ended | jnp.isin(tokens, jnp.array(self.ends)) if self.ends else ended

    def __call__(
        self,
        scores: Float[Array, 'B V'],
        before: Int[Array, 'B T'],
        written: Int[Array, 'B M'],
        step: Int[Array, ''],
        end: Int[Array, '...'],
    ) -> Float[Array, 'B V']:
        """Set the logits or log-probabilities of forbidden tokens to -inf; a forced token has 0, all others -inf.

        Args:
            before: tokens before the first new one; -1 for padding.
            written: new tokens, the first `step` of them set; M is the maximum number.
            end: the end token, of each row or of all.
        """
        V, M = scores.shape[-1], written.shape[-1]
        started = (before >= 0).sum(axis=-1)
        length = started + step
        for word in self.bad_words:
            completed = _ends_with(word[:-1], jnp.concatenate([before, written], axis=1), before.shape[1] + step)
            scores = scores.at[:, word[-1]].add(jnp.where(completed, -jnp.inf, 0.0))
        if self.min_length or self.min_new_tokens:
            short = (length < self.min_length) | (step < self.min_new_tokens)
            ends = self.are_ends(jnp.arange(V)[None], jnp.broadcast_to(end, length.shape)[:, None])
            scores = jnp.where(short[:, None] & ends, -jnp.inf, scores)
        if self.first is not None:
            scores = jnp.where((length == 1)[:, None], _only((self.first,), V), scores)
        if self.last:
            scores = jnp.where(step == M - 1, _only(self.last, V), scores)
        if self.never:
            scores = scores.at[:, jnp.array(self.never)].set(-jnp.inf)
        if self.never_first:
            begin = (started == 1) & (self.first is not None)
            without = scores.at[:, jnp.array(self.never_first)].set(-jnp.inf)
            scores = jnp.where((step == begin)[:, None], without, scores)
        return scores


def _ends_with(prefix: tuple[int, ...], tokens: Int[Array, 'B T'], at: Int[Array, '']) -> Bool[Array, 'B']:
    """Return True where the tokens before an index end with these."""
    count = len(prefix)
    padded = jnp.pad(tokens, ((0, 0), (count, 0)), constant_values=-1)
    newest = jax.lax.dynamic_slice_in_dim(padded, at, count, axis=1)
    return (newest == jnp.array(prefix, jnp.int32)).all(axis=-1)


def _only(tokens: tuple[int, ...], V: int) -> Float[Array, 'V']:
    """Return 0 for these tokens, -inf for all others."""
    return jnp.where(jnp.isin(jnp.arange(V), jnp.array(tokens)), 0.0, -jnp.inf)


FREE = TokenRules()
