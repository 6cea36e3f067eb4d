# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Standardizer: a processor that scales each band to mean 0 and deviation 1 over the training split."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from saccade.data.whole_file import write_whole
from saccade.paths import read_text
from saccade.types import UserError

FILE = 'processor.json'
_LEAST = 1e-6  # minimum deviation: a constant band becomes 0


@dataclass(frozen=True)
class Standardizer:
    """Standardizer. Attributes: mean and deviation of each of the F bands."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @classmethod
    def of(cls, frames: Float[np.ndarray, 'frames F']) -> 'Standardizer':
        """Return the standardizer of the frames of a training split."""
        wide = frames.astype(np.float64)
        return cls(tuple(wide.mean(axis=0).tolist()), tuple(np.maximum(wide.std(axis=0), _LEAST).tolist()))

    @classmethod
    def load(cls, folder: Path) -> 'Standardizer | None':
        """Read the standardizer of a folder; None if there is none.

        Raises:
            UserError: its file is damaged.
        """
        file = Path(folder) / FILE
        if not file.is_file():
            return None
        try:
            found = json.loads(read_text(file))
            made = cls(*(tuple(map(float, found[name])) for name in ('mean', 'deviation')))
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise UserError(f'{file}: is not a standardizer of frames: {error!r}') from error
        if not made.mean or len(made.mean) != len(made.deviation) or min(made.deviation) <= 0:
            raise UserError(f'{file}: needs equally many means and deviations, with deviations above 0')
        return made

    @property
    def digest(self) -> str:
        """SHA-256 of mean and deviation, in hexadecimal."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()

    def save(self, folder: Path) -> None:
        """Write processor.json into a folder.

        Raises:
            UserError: the file cannot be written.
        """
        write_whole(Path(folder) / FILE, json.dumps(asdict(self)) + '\n', 'the processor')

    def __call__(self, frames: Float[np.ndarray, '... F']) -> Float[np.ndarray, '... F']:
        """Return standardized frames, in float32."""
        return ((frames - np.array(self.mean)) / np.array(self.deviation)).astype(np.float32)
