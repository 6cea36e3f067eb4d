# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Block tables: pages of a pool, the rows that have them, and the common beginnings of prompts.

All of it is plain Python on the host, before and between compiled programs. `attention.paged` describes the pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field


class PoolIsFullError(Exception):
    """A page was asked of a pool that has none left."""


@dataclass
class BlockTables:
    """Pages of each row, from a pool that counts the rows of each page.

    Attributes:
        size: tokens of a page (P).
        count: pages of the pool; None for no bound.
        rows: pages of each row, by the row's number; in use until the row is removed.
        lengths: number of tokens of each row.
        most_used: highest number of pages in use so far.
    """

    size: int
    count: int | None = None
    rows: dict[int, list[int]] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)
    most_used: int = 0
    _users: dict[int, int] = field(default_factory=dict)  # rows of each page in use
    _free: list[int] = field(default_factory=list)  # pages that were in use before
    _added: int = 0

    def add(self, source: int | None = None, length: int = 0) -> int:
        """Return the number of a new row; it begins with `length` tokens of another row and shares their pages."""
        self._added += 1
        shared = [] if source is None else self.rows[source][: -(-length // self.size)]
        for page in shared:
            self._users[page] += 1
        self.rows[self._added], self.lengths[self._added] = [*shared], length
        return self._added

    def grow(self, row: int, tokens: int) -> list[tuple[int, int]]:
        """Give a row room for more tokens; return the pages to copy, from and to, before they are written.

        A page that the row will write in must be its own: a shared one is replaced by a copy (copy on write).

        Raises:
            PoolIsFullError: the pool has no page left; the row may have grown by some.
        """
        pages, copies = self.rows[row], []
        if self.lengths[row] % self.size and self._users[pages[-1]] > 1:
            copies.append((pages[-1], self._take()))
            self._leave(pages[-1])
            pages[-1] = copies[-1][1]
        self.lengths[row] += tokens
        while len(pages) * self.size < self.lengths[row]:
            pages.append(self._take())
        return copies

    def remove(self, row: int) -> None:
        """Return the pages of a row that no other row has to the pool."""
        for page in self.rows.pop(row):
            self._leave(page)
        del self.lengths[row]

    def room(self, row: int) -> int:
        """Return the number of tokens until a row's next page begins, at least 1."""
        return self.size - self.lengths[row] % self.size

    @property
    def used(self) -> int:
        """Number of pages in use."""
        return len(self._users)

    def _take(self) -> int:
        if self.used == self.count:
            raise PoolIsFullError
        page = self._free.pop() if self._free else self.used
        self._users[page] = 1
        self.most_used = max(self.most_used, self.used)
        return page

    def _leave(self, page: int) -> None:
        self._users[page] -= 1
        if not self._users[page]:
            del self._users[page]
            self._free.append(page)


@dataclass
class Reading:
    """Prompt to read into the state, all but its last token, from where it differs from earlier prompts.

    Attributes:
        prompt: all tokens.
        source: index of the earlier reading with the same first tokens; None if there is none.
        start: number of these tokens, at the end of a page.
        copied: numbers of tokens at which later readings start, and need a copy of the state of a fixed size.
    """

    prompt: tuple[int, ...]
    source: int | None
    start: int
    copied: set[int] = field(default_factory=set)


def readings(prompts: Sequence[Sequence[int]], size: int) -> list[Reading]:
    """Return one reading of each distinct prompt; each shares as many whole pages as an earlier one has."""
    first: dict[tuple[int, ...], int] = {}  # the first tokens, at each end of a page, and the first to read them
    found: list[Reading] = []
    for prompt in dict.fromkeys(map(tuple, prompts)):
        beginnings = [prompt[:stop] for stop in range(size, len(prompt), size)]
        known = [beginning for beginning in beginnings if beginning in first]
        source, start = (first[known[-1]], len(known[-1])) if known else (None, 0)
        if source is not None:
            found[source].copied.add(start)
        for beginning in beginnings:
            first.setdefault(beginning, len(found))
        found.append(Reading(prompt, source, start))
    return found


def add_readings(tables: BlockTables, plan: Sequence[Reading]) -> list[int]:
    """Add a row for each reading, with pages for all but the last token of its prompt; return their numbers."""
    rows: list[int] = []
    for reading in plan:
        rows.append(tables.add(None if reading.source is None else rows[reading.source], reading.start))
        tables.grow(rows[-1], len(reading.prompt) - 1 - reading.start)
    return rows


def add_texts(tables: BlockTables, plan: Sequence[Reading], rows: Sequence[int], of: Sequence[int]) -> list[int]:
    """Add a row for each text, which begins with the reading of this index; the readings' own rows are removed."""
    texts = [tables.add(rows[number], len(plan[number].prompt) - 1) for number in of]
    for row in rows:
        tables.remove(row)
    return texts


def pages_needed(prompts: Sequence[Sequence[int]], size: int, max_tokens: int) -> int:
    """Return the number of pages for `max_tokens` tokens after each prompt."""
    tables, plan = BlockTables(size), readings(prompts, size)
    of = reading_of(prompts, plan)
    for row in add_texts(tables, plan, add_readings(tables, plan), of):
        tables.grow(row, max_tokens)
    return tables.most_used


def reading_of(prompts: Sequence[Sequence[int]], plan: Sequence[Reading]) -> list[int]:
    """Return the index of the reading of each prompt."""
    index = {reading.prompt: number for number, reading in enumerate(plan)}
    return [index[tuple(prompt)] for prompt in prompts]
