# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Guards against third-party tokenizer files: panics of the library, and unbounded expansion of a text."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tokenizers

from saccade.types import UserError

MOST = 8  # tokens per byte of text; a byte-level tokenizer has one, and no text in a script of its own has more
IDS = 1 << 24  # the library counts through all ids up to the largest, at each copy


@contextmanager
def one_line(where: Path | str) -> Iterator[None]:
    """Context that converts a panic of the library, which is written in Rust, into a one-line error.

    Raises:
        UserError: the library panics; the message begins with `where`.
    """
    try:
        yield
    except BaseException as error:  # a panic is not an Exception, and its class cannot be imported
        if type(error).__name__ != 'PanicException':
            raise
        reason = str(error).partition('\n')[0]
        raise UserError(f'{where}: the tokenizers library fails on this tokenizer: {reason}') from error


@contextmanager
def opening(file: Path) -> Iterator[None]:
    """Context that converts a panic into a one-line error, and suppresses the library's own output about it.

    Other output on standard error is written at the end. Since this redirects the output of all threads, it is used
    only while a file is opened, not for encoding.

    Raises:
        UserError: as for `one_line`.
    """
    if sys.__stderr__ is None:  # closed, so its descriptor may be another file's
        with one_line(file):
            yield
        return
    with tempfile.TemporaryFile() as held:
        kept, panics = os.dup(2), False
        os.dup2(held.fileno(), 2)
        try:
            with one_line(file):
                yield
        except UserError as error:
            panics = type(error.__cause__).__name__ == 'PanicException'
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            held.seek(0)
            if not panics:
                os.write(2, held.read())


def require_bounded(backend: tokenizers.Tokenizer, file: Path) -> None:
    """Check that a tokenizer's ids are below `IDS`, and that its normalizer and decoder expand a text `MOST` times.

    Raises:
        UserError: an id is larger, or one of them may expand a text further, over all steps.
    """
    token, number = max(backend.get_vocab(with_added_tokens=True).items(), key=lambda item: item[1], default=('', 0))
    if number >= IDS:
        raise UserError(f'{file}: the id of {token!r} is {number:,}; ids below {IDS:,} are supported')
    for name in ('normalizer', 'decoder'):
        part, growth = getattr(backend, name), 1
        for step in parts_of(json.loads(part.__getstate__()) if part else None):
            growth *= max(1, _growth(step))
        if growth > MOST:
            raise UserError(
                f'{file}: its {name} may make a text {growth:,.0f} times as long; at most {MOST} times is supported'
            )


def parts_of(part: Any) -> Iterator[dict[str, Any]]:
    """Yield a component (normalizer, pre-tokenizer or decoder) in its JSON form, and those inside a sequence."""
    if part is not None:
        yield part
        for key in ('normalizers', 'pretokenizers', 'decoders'):
            for inner in part.get(key, []):
                yield from parts_of(inner)


def _growth(step: Mapping[str, Any]) -> int | float:
    """Return the maximum number of characters that a step writes for one character."""
    if step['type'] == 'Prepend':
        return len(step['prepend'])
    if step['type'] == 'Replace':
        return len(step['content']) / max(1, len(step['pattern'].get('String', '')))  # a regex may match one character
    return 1
