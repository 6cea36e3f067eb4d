# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trainers of tokenizers: the protocol, and the base of those with special tokens."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import tokenizers

from saccade.data.tokenizer.tokenizer import END, ENDS, UNKNOWN, Tokenizer
from saccade.types import UserError


@runtime_checkable
class Trainer(Protocol):
    """Protocol of a trainer of tokenizers, the `tokenizer` of a config."""

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Return a tokenizer trained on the texts."""
        ...


@dataclass(frozen=True, kw_only=True)
class Reserving:
    """Base of a trainer that reserves the first ids for special tokens.

    Attributes:
        end: token between documents, with id 0; None for none.
        specials: special tokens with the following ids, as `BERT`.
    """

    end: str | None = END
    specials: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.end is not None and self.end not in ENDS:
            raise UserError(f'end: {self.end!r} would not be recognised in a tokenizer.json; use {", ".join(ENDS)}')
        if len({*self.reserved, ''}) <= len(self.reserved):
            raise UserError(f'specials: {", ".join(map(repr, self.reserved))}: names must be unique and not empty')
        for name in self.reserved:
            if len(name) == 1:
                raise UserError(f'specials: {name!r} might be a character of a text; use a name like {UNKNOWN}')

    @property
    def reserved(self) -> list[str]:
        """Special tokens in the order of their ids, from 0."""
        return [*([] if self.end is None else [self.end]), *self.specials]

    @property
    def known(self) -> list[str]:
        """The same, followed by the unknown token if it is not among them."""
        return [*self.reserved, *({UNKNOWN} - {*self.reserved})]

    def finished(self, backend: tokenizers.Tokenizer) -> Tokenizer:
        """Return the trained tokenizer with its special tokens registered."""
        backend.add_special_tokens(self.reserved)
        return Tokenizer(backend)


def numbered(reserved: Sequence[str], tokens: Sequence[str]) -> dict[str, int]:
    """Return the id of each token, special tokens first."""
    return {token: number for number, token in enumerate([*reserved, *tokens])}


def check_vocabulary(vocabulary: int, least: int) -> None:
    """Raise a UserError for a vocabulary of fewer tokens than the least."""
    if vocabulary < least:
        raise UserError(f'vocabulary: {vocabulary} tokens are too few; this tokenizer needs at least {least}')


def require_text(tokens: Collection[str]) -> None:
    """Raise a UserError if there are no tokens."""
    if not tokens:
        raise UserError('there is no text to train the tokenizer on')
