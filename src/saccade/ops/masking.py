# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masked language modelling: choose tokens and mask them, with a PRNG key per row, independent of the batch.

Devlin et al. 2019, "BERT", section 3.1 and appendix A.1, https://arxiv.org/abs/1810.04805
"""

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int, Key

__all__ = ['choose_spans', 'choose_tokens', 'choose_words']

RowKeys = Key[Array, 'B']


@struct.dataclass
class Chosen:
    """Tokens chosen for masking.

    Attributes: indices in the row; 1 for used entries, 0 for unused entries of a short row.
    """

    at: Int[Array, 'B M']
    counts: Float[Array, 'B M']

    def read(self, values: Int[Array, 'B T']) -> Int[Array, 'B M']:
        """Gather the values of the chosen tokens."""
        return jnp.take_along_axis(values, self.at, axis=-1)

    def places(self) -> Int[Array, 'B M']:
        """Return the indices, where unused entries repeat the first one."""
        return jnp.where(self.counts > 0, self.at, self.at[:, :1])

    def write(self, values: Int[Array, 'B T'], new: Int[Array, 'B M']) -> Int[Array, 'B T']:
        """Scatter new values to the chosen tokens."""
        kept = jnp.where(self.counts > 0, new, self.read(values))
        return jax.vmap(lambda row, at, put: row.at[at].set(put))(values, self.at, kept)


def row_keys(key: Key[Array, ''], rows: Int[Array, 'B']) -> RowKeys:
    """Return a PRNG key for each row number."""
    return jax.vmap(jax.random.fold_in, (None, 0))(key, rows)


def budget(share: float, length: int) -> int:
    """Return the number of chosen tokens of a full row (M)."""
    return max(1, round(share * length))


def choose_tokens(keys: RowKeys, words: Int[Array, 'B T'], share: float, /) -> Chosen:
    """Choose a share of the tokens of words, at least one a row that has any; `words` is 0 for what is never chosen."""

    def one(key: Array, words: Int[Array, 'T']) -> Chosen:
        return _first(jnp.where(words > 0, jax.random.uniform(key, words.shape), jnp.inf), share)

    return jax.vmap(one)(keys, words)


def choose_words(keys: RowKeys, words: Int[Array, 'B T'], share: float, /) -> Chosen:
    """Choose whole words, in a random order, for as long as they fit into the share of the tokens.

    A word that does not fit is skipped, and only where none fits the first one is cut. Whole-word masking: the BERT
    repository, 31 May 2019, https://github.com/google-research/bert, which leaves a row in which none fits as it is.
    """

    def one(key: Array, words: Int[Array, 'T']) -> Chosen:
        M, there = budget(share, words.shape[0]), words > 0
        count = jnp.clip(jnp.round(share * there.sum()), 1, M).astype(jnp.int32)
        sizes = jnp.bincount(words, there.astype(jnp.int32), length=words.shape[0] + 1)
        order = jnp.argsort(jnp.where(sizes > 0, jax.random.uniform(key, sizes.shape), jnp.inf))
        sizes = sizes[order]

        def fitting(alive: Array) -> Array:
            return alive & (jnp.cumsum(sizes * alive) <= count)

        def skip(alive: Array) -> Array:
            first = fitting(alive)
            return first | (alive & (sizes <= count - (sizes * first).sum()))

        alive = jax.lax.while_loop(lambda alive: (alive & ~fitting(alive)).any(), skip, sizes > 0)
        alive = jnp.where(alive.any(), alive, jnp.arange(alive.size) == 0)
        marks = there & jnp.zeros_like(alive).at[order].set(alive)[words]
        marks &= jnp.cumsum(marks) <= count
        at = jnp.argsort(~marks, stable=True)[:M]
        return Chosen(at, marks[at].astype(jnp.float32))

    return jax.vmap(one)(keys, words)


def choose_spans(
    keys: RowKeys, words: Int[Array, 'B T'], share: float, /, *, rate: float = 0.2, longest: int = 10
) -> Chosen:
    """Choose spans of whole words, whose lengths are geometric, until they are the share of the tokens of words.

    Joshi et al. 2020, "SpanBERT", section 3.1, https://arxiv.org/abs/1907.10529: the mean length is 3.8 words. As in
    the authors' code the last span is cut where the share is reached. Each row draws as many spans as it may have
    tokens; should all of them overlap, fewer tokens are chosen.

    Args:
        rate, longest: a length l of at most `longest` words has a probability proportional to (1 - rate)^l.
    """

    def one(key: Array, words: Int[Array, 'T']) -> Chosen:
        M, count = budget(share, words.shape[0]), (words > 0).sum()
        target = jnp.clip(jnp.round(share * count), 1, M)
        of_start, of_length = jax.random.split(key)
        starts = jax.random.randint(of_start, (M,), 1, jnp.maximum(words.max(), 1) + 1)
        lengths = 1 + jax.random.categorical(of_length, jnp.arange(longest) * jnp.log(1.0 - rate), shape=(M,))

        def add(marks: Array, span: tuple[Array, Array]) -> tuple[Array, None]:
            start, length = span
            new = (words >= start) & (words < start + length) & ~marks
            return marks | (new & (marks.sum() + jnp.cumsum(new) <= target)), None

        marks, _ = jax.lax.scan(add, jnp.zeros(words.shape, bool), (starts, lengths))
        at = jnp.argsort(~marks, stable=True)[:M]
        return Chosen(at, marks[at].astype(jnp.float32))

    return jax.vmap(one)(keys, words)


def _first(order: Float[Array, 'T'], share: float) -> Chosen:
    """Return the indices of the smallest numbers, for a share of the finite ones."""
    T = order.shape[0]
    M = budget(share, T)
    at = jnp.argsort(order)[:M]
    count = jnp.clip(jnp.round(share * jnp.isfinite(order).sum()), 1, M)
    return Chosen(at, ((jnp.arange(M) < count) & jnp.isfinite(order[at])).astype(jnp.float32))


def corrupt(
    keys: RowKeys, tokens: Int[Array, 'B M'], mask: Int[Array, 'B'], vocabulary: int, shares: tuple[float, float]
) -> Int[Array, 'B M']:
    """Replace tokens by [MASK], by random tokens, or keep them: 80%, 10% and 10% in BERT.

    Args:
        mask: id of [MASK].
        vocabulary: number of tokens (V) for random tokens.
        shares: shares of [MASK] and of random tokens.
    """

    def one(key: Array, tokens: Int[Array, 'M'], mask: Int[Array, '']) -> Int[Array, 'M']:
        which, what = jax.random.split(key)
        draw = jax.random.uniform(which, tokens.shape)
        noise = jax.random.randint(what, tokens.shape, 0, vocabulary)
        return jnp.where(draw < shares[0], mask, jnp.where(draw < sum(shares), noise, tokens))

    return jax.vmap(one)(keys, tokens, mask)
