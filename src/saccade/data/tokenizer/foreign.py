# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Guards against tokenizer files of others: panics of the library, and parts that expand a text without bound."""

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

MOST = 8  # tokens a byte of text; a byte-level tokenizer has one, and no text in a script of its own has more


@contextmanager
def one_line(where: Path | str) -> Iterator[None]:
    """Turn a panic of the library, which is written in Rust, into one line.

    Raises:
        UserError: the library panics; the error names `where`.
    """
    try:
        yield
    except BaseException as error:  # a panic is no Exception, and its class cannot be imported
        if type(error).__name__ != 'PanicException':
            raise
        reason = str(error).partition('\n')[0]
        raise UserError(f'{where}: the tokenizers library fails on this tokenizer: {reason}') from error


@contextmanager
def opening(file: Path) -> Iterator[None]:
    """Turn a panic into one line, and keep the library's own lines about it off standard error.

    Whatever else is written to standard error meanwhile is written at the end. As this diverts the output of all
    threads, it is for the moment of opening only, and not for encoding.

    Raises:
        UserError: as for `one_line`.
    """
    if sys.__stderr__ is None:  # closed, so that its number may be that of another file
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
    """Refuse a tokenizer whose normalizer or decoder replaces a character by more than `MOST`, all steps together.

    Raises:
        UserError: the normalizer or the decoder does so.
    """
    for name in ('normalizer', 'decoder'):
        part, growth = getattr(backend, name), 1
        for step in parts_of(json.loads(part.__getstate__()) if part else None):
            growth *= max(1, _growth(step))
        if growth > MOST:
            raise UserError(
                f'{file}: its {name} may make a text {growth:,.0f} times as long; at most {MOST} times is supported'
            )


def parts_of(part: Any) -> Iterator[dict[str, Any]]:
    """Yield a normalizer, a pre-tokenizer or a decoder as its JSON describes it, or those in a sequence."""
    if part is not None:
        yield part
        for key in ('normalizers', 'pretokenizers', 'decoders'):
            for inner in part.get(key, []):
                yield from parts_of(inner)


def _growth(step: Mapping[str, Any]) -> int | float:
    """How many characters a step of a normalizer or a decoder writes for one."""
    if step['type'] == 'Prepend':
        return len(step['prepend'])
    if step['type'] == 'Replace':
        return len(step['content']) / max(1, len(step['pattern'].get('String', '')))  # a regex may match one character
    return 1
