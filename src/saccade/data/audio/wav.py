# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""WAV files: samples of 8, 16, 24, 32 bits or floating point, of any number of channels, from -1 to 1.

    RIFF size WAVE, then chunks: name, size, content;   'fmt ' has the sample format, 'data' the samples

IBM and Microsoft 1991, "Multimedia Programming Interface and Data Specifications 1.0"; the extensible format:
https://learn.microsoft.com/windows/win32/api/mmreg/ns-mmreg-waveformatextensible; RF64: EBU Tech 3306, 2009.

A program that writes into a pipe, or was killed, leaves 0, 0x7FFF... or 0xFFFFFFFF as the size of the samples. They
then extend to the end of the file.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from saccade.data.corpus.files import content_of
from saccade.types import UserError

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_OTHERS = {2: 'ADPCM', 6: 'A-law', 7: 'mu-law', 17: 'IMA ADPCM', 49: 'GSM', 80: 'MPEG', 85: 'MP3'}
_UNKNOWN_SIZE = 0x7FFF0000  # bytes; larger sizes are placeholders for an unknown size
_WIDE = 0xFFFFFFFF  # the size is in the chunk 'ds64'
_LOUDEST = 8.0  # floating-point samples are from -1 to 1; a loud mix may exceed it, at most by 18 dB


class Sound(NamedTuple):
    """Sound. Attributes: rate, samples per second; samples of each channel, from -1 to 1."""

    rate: int
    samples: Float[np.ndarray, 'samples channels']


def read_wav(path: Path) -> Sound:
    """Read a WAV file.

    Raises:
        UserError: the file cannot be read, is not a WAV file, is cut short, is compressed, or has samples that are not
            finite or far beyond 1.
    """
    content = content_of(path)
    try:
        return _sound(content)
    except struct.error as error:
        raise UserError(f'{path}: cannot be read as a WAV file: its header is cut short') from error
    except ValueError as error:
        raise UserError(f'{path}: cannot be read as a WAV file: {error}') from error


class _Chunk(NamedTuple):
    name: bytes
    start: int
    size: int


def _sound(content: bytes) -> Sound:
    """Return the sound in a file's bytes; raise ValueError if there is none."""
    order = {b'RIFF': '<', b'RIFX': '>', b'RF64': '<'}.get(content[:4])
    if order is None or content[8:12] != b'WAVE':
        raise ValueError(f'it begins with {content[:12]!r}, not with RIFF and WAVE')
    format, wide = None, None
    for name, start, size in _chunks(content, order):
        if name == b'ds64':
            (wide,) = struct.unpack_from('<8xQ', content, start)
        elif name == b'fmt ':
            format = _Format.of(content[start : start + size], order)
        elif name == b'data':
            if format is None:
                raise ValueError('its samples come before the chunk with their format')
            stop = _stop(content, order, start, size if wide is None or size != _WIDE else wide, format.frame)
            return Sound(format.rate, format.samples(content[start:stop]))
    raise ValueError('it has no chunk of samples')


def _chunks(content: bytes, order: str) -> Iterator[_Chunk]:
    start = 12
    while start + 8 <= len(content):
        name, size = struct.unpack_from(f'{order}4sI', content, start)
        yield _Chunk(name, start + 8, size)
        start += 8 + size + size % 2


def _stop(content: bytes, order: str, start: int, size: int, frame: int) -> int:
    """Return the end of the samples that begin at `start`; raise ValueError if the file ends earlier."""
    (whole,) = struct.unpack_from(f'{order}I', content, 4)
    there = len(content) - start
    # For an empty sound with a correct size, RIFF's size extends further, or the file ends here.
    unwritten = size == 0 and (whole + 8 <= start or whole >= _UNKNOWN_SIZE)
    if unwritten or (size >= _UNKNOWN_SIZE and size > there):
        return start + there - there % frame
    if size > there:
        raise ValueError(f'it is cut short: it announces {size} bytes of samples but has {there}')
    if size % frame:
        raise ValueError(f'{size} bytes of samples are not a multiple of {frame} bytes')
    return start + size


class _Format(NamedTuple):
    """Sample format. Attributes: tag; channels; rate; frame, bytes of a sample of all channels; order, byte order."""

    tag: int
    channels: int
    rate: int
    frame: int
    order: str

    @classmethod
    def of(cls, chunk: bytes, order: str) -> '_Format':
        """Read a format chunk."""
        tag, channels, rate, _, frame, bits = struct.unpack_from(f'{order}HHIIHH', chunk)
        if tag == _EXTENSIBLE:
            (tag,) = struct.unpack_from(f'{order}H', chunk, 24)
        if tag not in (_PCM, _FLOAT):
            raise ValueError(f'its samples are {_OTHERS.get(tag, f"of format {tag}")}; save them as PCM')
        if not channels or not rate or not frame or frame % channels:
            raise ValueError(f'it has {channels} channels, {rate} samples per second and {frame} bytes for each')
        made = cls(tag, channels, rate, frame, order)
        if made.width not in ((1, 2, 3, 4) if tag == _PCM else (4, 8)) or -(-bits // 8) != made.width:
            raise ValueError(
                f'a sample has {bits} bits in {made.width} bytes; supported: PCM of 1 to 4 bytes and floats of 4 or 8'
            )
        return made

    @property
    def width(self) -> int:
        """Bytes per sample of one channel."""
        return self.frame // self.channels

    def samples(self, content: bytes) -> Float[np.ndarray, 'samples channels']:
        """Return the samples in these bytes, from -1 to 1. Fewer bits than bytes provide are the highest bits."""
        if self.tag == _FLOAT:
            found = np.frombuffer(content, f'{self.order}f{self.width}')
            loudest = float(np.abs(found).max(initial=0.0))
            if not loudest <= _LOUDEST:
                raise ValueError(f'its samples reach {loudest:g}, but floating-point samples are from -1 to 1')
            found = found.astype(np.float32)
        elif self.width == 1:
            found = (np.frombuffer(content, np.uint8).astype(np.float32) - 128) / 128
        else:
            # A sample is the highest bytes of 32 bits.
            wide = np.zeros((len(content) // self.width, 4), np.uint8)
            each = np.frombuffer(content, np.uint8).reshape(-1, self.width)
            wide[:, 4 - self.width :] = each if self.order == '<' else each[:, ::-1]
            found = (wide.view('<i4')[:, 0] / 2.0**31).astype(np.float32)
        return found.reshape(-1, self.channels)
