# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A text file of any size, plain or gzipped, read part by part from its place; text is as in `data.corpus.files`."""

import hashlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from saccade.data.corpus.document import PART, cut
from saccade.data.corpus.files import block_of, codec_of, opened, state_of, text_of_block, whole_characters
from saccade.progress import counted
from saccade.types import UserError

_MIB = 1 << 20
_LARGE = 64 * _MIB  # bytes of a file whose reading is shown


class Span(NamedTuple):
    """Part of a file.

    Attributes:
        start, stop: range of bytes, unpacked.
        length: number of characters of its text.
        lines: number of newlines in it.
        has_text: True if it has more than white space.
    """

    start: int
    stop: int
    length: int
    lines: int
    has_text: bool


@dataclass(frozen=True)
class TextFile:
    """Text file, as it was when it was scanned.

    Attributes:
        sha256: hash of its bytes, unpacked.
        codec: encoding of its spans.
        spans: its parts in order, without a byte order mark.
        changed: its size [bytes] and time of the last change [ns].
    """

    path: Path
    sha256: str
    codec: str
    spans: tuple[Span, ...]
    changed: tuple[int, int]

    @classmethod
    def scan(cls, path: Path) -> 'TextFile':
        """Read a file once.

        Raises:
            UserError: it cannot be read or decoded.
        """
        with opened(path) as file:
            changed, sha256 = state_of(path), hashlib.sha256()
            first = block_of(file, PART)
            spans = tuple(_shown(_spans(first, file, sha256, path), path, changed[0]))
        return cls(path, sha256.hexdigest(), codec_of(first)[0], spans, changed)

    @property
    def length(self) -> int:
        """Number of characters of the text."""
        return sum(span.length for span in self.spans)

    @property
    def has_text(self) -> bool:
        """True if the file has more than white space."""
        return any(span.has_text for span in self.spans)

    def parts(self, start: int, stop: int) -> Iterator[str]:
        """Yield the text between two characters, part by part.

        Raises:
            UserError: the file has changed since it was scanned, or cannot be read.
        """
        line_end = '\r\n' if any(span.lines for span in self.spans) else '\r'
        first = 0
        with opened(self.path) as file:
            for span in _shown(self.spans, self.path, self.changed[0]):
                if first < stop and first + span.length > start:
                    file.seek(span.start)
                    content = block_of(file, span.stop - span.start)
                    if state_of(self.path) != self.changed:
                        raise UserError(f'{self.path}: changed while it was being read; run again')
                    text = content.decode(self.codec).replace(line_end, '\n')
                    yield text[max(start - first, 0) : stop - first]
                first += span.length


def _spans(first: bytes, file: io.BufferedIOBase, digest: Any, path: Path) -> Iterator[Span]:
    """Yield the spans of a file with this first block, and hash its blocks."""
    codec, start = codec_of(first)
    content, more, line = first[start:], len(first) == PART, 1
    digest.update(first)
    while content:
        whole = whole_characters(content, codec) if more else len(content)
        text = text_of_block(content[:whole], codec, path, start, line)
        text = text[: cut(text)] if more else text
        size, lines = len(text.encode(codec)), text.count('\n')
        yield Span(start, start + size, len(text.replace('\r\n', '\n')), lines, bool(text.strip()))
        start, line = start + size, line + lines
        rest = content[size:]
        block = block_of(file, PART - len(rest)) if more else b''
        digest.update(block)
        content, more = rest + block, bool(block) and len(rest + block) == PART


def _shown(spans: Iterable[Span], file: Path, size: int) -> Iterator[Span]:
    """Yield spans, and show the MiB read of a file that is large."""
    if size < _LARGE:
        return iter(spans)
    total = None if file.suffix.lower() == '.gz' else size // _MIB
    return counted(spans, f'reading {file.name}', total, 'MiB', lambda span: span.stop // _MIB)
