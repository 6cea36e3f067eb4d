# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The user's files: their bytes, plain or gzipped (.gz), text, lines and numbers, and the files of a folder.

Text is UTF-8, or UTF-16 with a byte order mark. A line ends in LF or CRLF, not in other Unicode line breaks (U+2028,
U+0085, form feed ...). A lone CR is a character of its line; in a text without any LF, as in files of Mac OS 9, each CR
ends a line.
"""

import codecs
import contextlib
import gzip
import io
import itertools
import logging
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from saccade.types import UserError

_LOG = logging.getLogger(__name__)
_LARGEST = 1 << 30  # bytes; a TFDS example is a protocol buffer, whose limit is 2 GiB
_CHUNK = 1 << 20  # bytes per read
# gzip compresses text about 4 times, and nothing more than 1030 times.
_MOST_UNPACKED = 200  # unpacked bytes per byte of a gzip file
_FEW_UNPACKED = 1 << 24  # unpacked bytes allowed for any gzip file: a small one may repeat one line
_UTF_8 = 'utf-8'
_MARKS = {codecs.BOM_UTF8: _UTF_8, codecs.BOM_UTF16_LE: 'utf-16-le', codecs.BOM_UTF16_BE: 'utf-16-be'}
_NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?', re.ASCII)
_LARGEST_NUMBER = float(np.finfo(np.float32).max)
# Files created by operating systems, file servers and archives, in lower case.
_LEFTOVERS = {'thumbs.db', 'desktop.ini', 'icon\r', '__macosx', '@eadir', '$recycle.bin', 'system volume information'}


def content_of(path: Path) -> bytes:
    """Return the bytes of a file, unpacked if its name ends in .gz.

    Raises:
        UserError: the file is too large for memory, or as for `opened`.
    """
    with opened(path) as file:
        content = block_of(file, _LARGEST + 1)
    if len(content) > _LARGEST:
        raise UserError(f'{path}: holds more than {_LARGEST} bytes; split it into files of at most {_LARGEST} bytes')
    return content


@contextlib.contextmanager
def opened(path: Path) -> Iterator[io.BufferedIOBase]:
    """Context with the bytes of a file, unpacked if its name ends in .gz.

    Raises:
        UserError: in the context, the file cannot be read, is an incomplete gzip file, or is a gzip file that unpacks
            to more than 16 MiB and 200 times its size.
    """
    try:
        with path.open('rb') as file:
            yield _Unpacked(path, file) if path.suffix.lower() == '.gz' else file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f'{path}: is not a whole gzip file ({error})') from error
    except OSError as error:
        raise UserError(f'{path}: cannot be read ({error.strerror})') from error


class _Unpacked(gzip.GzipFile):
    """Gzip file whose content is refused beyond a number of bytes."""

    def __init__(self, path: Path, file: io.BufferedIOBase) -> None:
        super().__init__(fileobj=file)
        self._path, self._size = path, path.stat().st_size
        self._most = max(_FEW_UNPACKED, _MOST_UNPACKED * self._size)

    def read(self, size: int | None = -1) -> bytes:
        content = super().read(size)
        if self.tell() > self._most:
            raise UserError(
                f'{self._path}: {self._size} bytes of gzip unpack to more than {self._most}, unlike ordinary text; if '
                'it is text, unpack it first'
            )
        return content


def block_of(file: io.BufferedIOBase, size: int) -> bytes:
    """Return the next bytes of a file, fewer than `size` only at its end."""
    chunks, left = [], size
    while left and (chunk := file.read(min(left, _CHUNK))):
        chunks.append(chunk)
        left -= len(chunk)
    return b''.join(chunks)


def state_of(path: Path) -> tuple[int, int]:
    """Return the size of a file [bytes] and the time of its last change [ns]."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def is_binary(content: bytes) -> bool:
    """True if the bytes are not text: a byte is zero, and there is no byte order mark of UTF-16."""
    return b'\0' in content and codec_of(content)[0] == _UTF_8


def decoded(content: bytes, path: Path | str) -> str:
    """Return the text of a file's bytes, without a byte order mark; line ends become newlines.

    Raises:
        UserError: it is neither UTF-8 nor UTF-16 with a byte order mark, or it contains a zero character.
    """
    codec, mark = codec_of(content)
    text = text_of_block(content[mark:], codec, path, mark, 1).replace('\r\n', '\n')
    return text if '\n' in text else text.replace('\r', '\n')


def codec_of(start: bytes) -> tuple[str, int]:
    """Return the encoding of a text by its first bytes, and the number of bytes of its byte order mark."""
    return next(((codec, len(mark)) for mark, codec in _MARKS.items() if start.startswith(mark)), (_UTF_8, 0))


def text_of_block(content: bytes, codec: str, path: Path | str, place: int, line: int) -> str:
    """Return the text of a block that begins at a place of a file [bytes], on line `line`; line ends are as they are.

    Raises:
        UserError: as for `decoded`.
    """
    return _of_utf_8(content, path, line) if codec == _UTF_8 else _of_utf_16(content, codec, path, place)


def whole_characters(content: bytes, codec: str) -> int:
    """Return the number of bytes up to a last character that is cut off."""
    decoder = codecs.getincrementaldecoder(codec)('ignore')
    decoder.decode(content)
    return len(content) - len(decoder.getstate()[0])


def _of_utf_8(content: bytes, path: Path | str, line: int) -> str:
    """Return the text of bytes that begin on line `line`."""
    try:
        text = content.decode('utf-8')
    except UnicodeDecodeError as error:
        byte, place = content[error.start], _place(path, line, content[: error.start])
        raise UserError(f'{place} (0x{byte:02x}) is not UTF-8, which is expected: {error.reason}') from error
    if '\0' in text:
        place = _place(path, line, content[: content.index(0)])
        raise UserError(f'{place} is zero: it looks binary, where UTF-8 text is expected')
    return text


def _of_utf_16(content: bytes, codec: str, path: Path | str, place: int) -> str:
    try:
        text = content.decode(codec)
    except UnicodeDecodeError as error:
        byte = place + error.start + 1
        raise UserError(
            f'{path}: begins with the byte order mark of UTF-16, but byte {byte} is not: {error.reason}'
        ) from error
    if '\0' in text:  # as in UTF-32, whose byte order mark begins like UTF-16's
        raise UserError(f'{path}: looks binary, or is UTF-32; UTF-8 text is expected')
    return text


def _place(path: Path | str, line: int, before: bytes) -> str:
    """Return the place of the byte after `before`, for messages."""
    return f'{path}, line {line + before.count(10)}: byte {len(before) - before.rfind(10)}'


def lines_of(stream: io.BufferedIOBase, path: Path | str) -> Iterator[str]:
    """Yield the lines of a stream as they arrive, without line ends; lines are as in `decoded`.

    Raises:
        UserError: as for `decoded`.
    """
    first = stream.readline()
    if codec_of(first)[0] != _UTF_8 or not first.endswith(b'\n'):
        text = decoded(first + stream.read(), path)
        yield from text.removesuffix('\n').split('\n') if text else ()
        return
    for number, line in enumerate(itertools.chain([first], stream), start=1):
        yield text_of_line(line, path, number)


def text_of_line(content: bytes, path: Path | str, number: int) -> str:
    """Return the text of a line of UTF-8, without its end; `number` counts from 1.

    Raises:
        UserError: it is not UTF-8.
    """
    text = _of_utf_8(content, path, number)
    return (text.removeprefix('\ufeff') if number == 1 else text).replace('\r\n', '\n').removesuffix('\n')


def number_of(value: Any) -> float | None:
    """Return the number in a field of a record; None if it is not a number in float32's range.

    A string must be a decimal number in ASCII digits, optionally with a point and an exponent: not 1_000, 1,5 or nan. A
    boolean is not a number.
    """
    if isinstance(value, str):
        text = value.strip(' \t')
        value = float(text) if _NUMBER.fullmatch(text) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) <= _LARGEST_NUMBER else None


def is_leftover(name: str) -> bool:
    """True if a file or folder of this name is hidden, or a leftover of an editor or a system."""
    backup = name.endswith('~') or name.startswith('~$') or (name.startswith('#') and name.endswith('#'))
    return name.startswith('.') or backup or name.lower() in _LEFTOVERS


def visible_files(folder: Path) -> list[Path]:
    """Return the files below a folder, sorted by path; log the number of those skipped by `is_leftover`.

    Linked folders are entered, each folder once.

    Raises:
        UserError: a folder cannot be read.
    """
    found, hidden, entered = [], 0, set()
    for root, folders, names in os.walk(folder, onerror=_refuse, followlinks=True):
        hidden += sum(map(is_leftover, (*folders, *names)))
        folders[:] = [name for name in folders if not is_leftover(name)]
        real = os.path.realpath(root)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        shown = [Path(root, name) for name in names if not is_leftover(name)]
        found += [file for file in shown if file.is_file() or file.is_symlink()]  # no pipes, no sockets
    if hidden:
        _LOG.warning('%s: skipped %d hidden files or folders', folder, hidden)
    return sorted(found, key=lambda file: file.relative_to(folder).as_posix())


def _refuse(error: OSError) -> None:
    raise UserError(f'{error.filename}: cannot be read ({error.strerror})') from error
