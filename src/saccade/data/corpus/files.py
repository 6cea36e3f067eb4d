# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Contents of the user's files: bytes, plain or gzipped (.gz), and their UTF-8 text."""

import gzip
import zlib
from pathlib import Path

from saccade.types import UserError

_LARGEST = 1 << 30  # bytes; a TFDS example is a protocol buffer, which ends at 2 GiB


def content_of(path: Path) -> bytes:
    """Return the bytes of a file, unpacked where its name ends in .gz.

    Raises:
        UserError: it cannot be read, is no whole gzip file, or is too large to be held.
    """
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix.lower() == '.gz' else content
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f'{path}: is not a whole gzip file ({error})') from error
    except OSError as error:
        raise UserError(f'{path}: cannot be read ({error.strerror})') from error
    if len(content) > _LARGEST:
        raise UserError(f'{path}: holds {len(content)} bytes; split it into files of at most {_LARGEST} bytes')
    return content


def is_binary(content: bytes) -> bool:
    """Whether a file's bytes are no text: one of them is zero."""
    return b'\0' in content


def decoded(content: bytes, path: Path) -> str:
    """Return the text of a file's bytes, without a byte order mark; line ends become newlines.

    Raises:
        UserError: it is not UTF-8, or holds a zero byte, as no text does.
    """
    if is_binary(content):
        raise UserError(f'{path}: looks binary, with a zero byte at {content.index(0)}; UTF-8 text is expected')
    try:
        text = content.decode('utf-8')
    except UnicodeDecodeError as error:
        byte = content[error.start]
        raise UserError(
            f'{path}: byte {error.start} (0x{byte:02x}) is not UTF-8, which is expected: {error.reason}'
        ) from error
    return text.removeprefix('\ufeff').replace('\r\n', '\n').replace('\r', '\n')
