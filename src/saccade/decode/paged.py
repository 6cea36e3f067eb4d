# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generation with a KV cache in pages (PagedAttention): samples of one prompt share the pages of the prompt.

Each distinct prompt is read once, page by page, by a row of its own that starts at the last page that it shares with
an earlier prompt. Then each text begins as a copy of its prompt's row: it has the same pages, and its own state of a
fixed size. The host runs the loop of `decode.loop` as far as the pages reach, gives each row its next page, and takes
back the pages of rows that have ended. The pool has the worst case's number of pages, or as many as `Paging` says.

Kwon et al. 2023, sections 4.2 to 4.5, https://arxiv.org/abs/2309.06180. Ours runs all texts at once and does not
preempt: a pool that runs full is an error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from saccade.attention.cache import Cache
from saccade.attention.paged import apart, joined
from saccade.decode.block_table import (
    BlockTables,
    PoolIsFullError,
    Reading,
    add_readings,
    add_texts,
    pages_needed,
    reading_of,
    readings,
)
from saccade.decode.generate import NO_TOKEN, accepted
from saccade.decode.loop import Writing, advance, unstacked_stepper
from saccade.decode.rules import FREE, TokenRules
from saccade.decode.sampling import Sampler
from saccade.model.stack import unstacked
from saccade.types import LanguageModel, Pages, Params, Part, PRNGKey, State, Tokens, UserError

_Pools = list[Cache]


@dataclass(frozen=True)
class Paging:
    """Settings of a cache in pages. Attributes: size of a page in tokens; pages of the pool, None for the worst case.

    Raises:
        UserError: one of them is below 1.
    """

    size: int = 64
    pages: int | None = None

    def __post_init__(self) -> None:
        for name, value in (('page_size', self.size), ('pages', self.pages)):
            if value is not None and value < 1:
                raise UserError(f'{name}: must be at least 1, not {value}')


@dataclass(frozen=True)
class CacheUsage:
    """Memory of the decoding state.

    Attributes: page_size in tokens; pages in use at most; pool, pages allocated; page_bytes of one page in all layers;
    row_bytes, of a fixed size, of one row; rows.
    """

    page_size: int
    pages: int
    pool: int
    page_bytes: int
    row_bytes: int
    rows: int

    @property
    def bytes(self) -> int:
        """Bytes of the pages in use at most, and of all rows."""
        return self.pages * self.page_bytes + self.rows * self.row_bytes

    def __str__(self) -> str:
        rows = f', and {self.rows} rows of {self.row_bytes:,} bytes' if self.row_bytes else ''
        return (
            f'cache: {self.pages} pages of {self.page_size} tokens ({self.page_bytes:,} bytes){rows}: '
            f'{self.bytes / 2**20:,.2f} MiB; the pool has {self.pool} pages'
        )


def generate_paged(
    model: LanguageModel,
    params: Params,
    prompts: Sequence[Sequence[int]],
    sampler: Sampler,
    max_tokens: int,
    key: PRNGKey,
    end: int | None = None,
    rules: TokenRules = FREE,
    paging: Paging = Paging(),
) -> tuple[list[list[int]], CacheUsage]:
    """Return the new tokens of each row, as `decode.generate:generate` does, and the memory of the cache.

    Args:
        model, params, prompts, sampler, max_tokens, key, end, rules: as for `generate`.

    Raises:
        UserError: as for `generate`; a part of the model cannot decode with pages; or the pool is too small, which is
            known before the first token if no end token can free pages.
    """
    if not hasattr(model, 'init_pages'):
        raise UserError(f'{Part(type(model)).name} cannot decode with pages: it has no init_pages')
    prompts, size = accepted(model, prompts, max_tokens, end), paging.size
    most = pages_needed(prompts, size, max_tokens)
    least = most if end is None and not rules.ends else pages_needed(prompts, size, 1)
    pool = most if paging.pages is None else paging.pages
    enough = f'{len(prompts)} texts of {max_tokens} new tokens need {most} pages of {size} tokens'
    if pool < least:
        raise UserError(f'a pool of {pool} pages is too small: {enough}; set pages to {most}, or fewer texts or tokens')
    if not prompts:
        return [], CacheUsage(size, 0, 0, 0, 0, 0)
    longest = max(map(len, prompts))
    pages = Pages(pool, size, -(-(longest - 1 + max_tokens) // size))
    tables, plan = BlockTables(size, pool), readings(prompts, size)
    pools, fresh = _empty(model, pages, params)
    layers = unstacked(params)
    rows, of = add_readings(tables, plan), reading_of(prompts, plan)
    pools, opened = _read(model, layers, pools, fresh, tables, plan, rows, pages)
    state = jax.tree.map(lambda *leaves: jnp.concatenate([leaves[number] for number in of]), *opened)
    texts = add_texts(tables, plan, rows, of)
    before = np.full((len(prompts), longest), -1, np.int32)
    for row, prompt in zip(before, prompts, strict=True):
        row[-len(prompt) :] = prompt
    now = Writing.after(state, jnp.asarray(before[:, -1]), jnp.zeros(len(prompts), bool), max_tokens)
    static, stop = (model, sampler, rules), np.int32(NO_TOKEN if end is None else end)
    alive, steps = {*texts}, 0
    while alive and steps < max_tokens:
        steps = min(max_tokens, steps + min(map(tables.room, alive)))
        try:
            copies = [pair for row in texts if row in alive for pair in tables.grow(row, steps - int(now.steps))]
        except PoolIsFullError:
            raise UserError(
                f'all {pool} pages of {size} tokens are in use after {int(now.steps)} new tokens; {enough}; '
                f'set pages to {most} at most, or fewer texts or tokens'
            ) from None
        if copies:
            pools = _copy(pools, *_padded(copies, len(texts), pool))
        pools, now = _advance(*static, layers, before, _table(tables, texts, pages.most), pools, now, key, stop, steps)
        for row in [row for row, ended in zip(texts, np.asarray(now.ended), strict=True) if ended and row in alive]:
            alive.remove(row)
            tables.remove(row)
    written, counts = jax.device_get((now.tokens, now.counts))
    new = [row[:count].tolist() for row, count in zip(written, counts, strict=True)]
    usage = CacheUsage(size, tables.most_used, pool, _bytes(pools) // pool, _bytes(fresh), len(texts))
    return new, usage


def _read(
    model: Any,
    layers: Params,
    pools: _Pools,
    fresh: State,
    tables: BlockTables,
    plan: Sequence[Reading],
    rows: Sequence[int],
    pages: Pages,
) -> tuple[_Pools, list[State]]:
    """Read the prompts, page by page; return the pools, and the state of each reading's row."""
    copies: dict[tuple[int, int], State] = {}  # by reading and number of tokens
    chunk = min(pages.size, model.context_length)  # a longer page is not filled by a prompt
    opened = []
    for number, (reading, row) in enumerate(zip(plan, rows, strict=True)):
        state = fresh if reading.source is None else copies[reading.source, reading.start]
        table = _table(tables, [row], pages.most)
        for start in range(reading.start, len(reading.prompt) - 1, chunk):
            stop = min(start + chunk, len(reading.prompt) - 1)
            tokens, segments = np.zeros((2, 1, chunk), np.int32)
            tokens[0, start - stop :], segments[0, start - stop :] = reading.prompt[start:stop], 1
            pools, state = _read_page(model, layers, tokens, segments, table, pools, state)
            if stop in reading.copied:
                copies[number, stop] = state
        opened.append(state)
    return pools, opened


def _table(tables: BlockTables, rows: Sequence[int], width: int) -> Int[np.ndarray, 'B W']:
    """Return the pages of rows; 0 where there is none, also for rows that are removed."""
    table = np.zeros((len(rows), width), np.int32)
    for place, row in zip(table, rows, strict=True):
        found = tables.rows.get(row, [])
        place[: len(found)] = found
    return table


def _padded(copies: Sequence[tuple[int, int]], count: int, pool: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the source and target of `count` copies, the rest of them to a page beyond the pool."""
    source, target = np.zeros(count, np.int32), np.full(count, pool, np.int32)
    source[: len(copies)], target[: len(copies)] = np.array(copies).T
    return source, target


def _bytes(state: State) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(state))


@partial(jax.jit, static_argnums=(0, 1))
def _empty(model: Any, pages: Pages, params: Params) -> tuple[_Pools, State]:
    """Return the empty pools, and the state of one row."""
    return apart(model.apply({'params': params}, jnp.zeros((1, 1), jnp.int32), pages, method='init_pages'))


@partial(jax.jit, static_argnums=0, donate_argnums=5)
def _read_page(
    model: Any, layers: Params, tokens: Tokens, segments: Tokens, table: Int[Array, '1 W'], pools: _Pools, rows: State
) -> tuple[_Pools, State]:
    return apart(unstacked_stepper(model, layers)(tokens, segments, joined(pools, rows, table))[1])


@partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=6)
def _advance(
    model: Any,
    sampler: Sampler,
    rules: TokenRules,
    layers: Params,
    before: Int[Array, 'B T'],
    table: Int[Array, 'B W'],
    pools: _Pools,
    now: Writing,
    key: PRNGKey,
    end: Int[Array, ''],
    until: Int[Array, ''],
) -> tuple[_Pools, Writing]:
    """Run the loop until `until` steps are made."""
    now = now.replace(state=joined(pools, now.state, table))
    now = advance(unstacked_stepper(model, layers), before, now, sampler, until, key, end, rules)
    pools, rows = apart(now.state)
    return pools, now.replace(state=rows)


@partial(jax.jit, donate_argnums=0)
def _copy(pools: _Pools, source: Int[Array, 'X'], target: Int[Array, 'X']) -> _Pools:
    """Copy pages of all layers."""
    return [pool.each(lambda _, slots: slots.at[target].set(slots[source], mode='drop')) for pool in pools]
