# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the processors whose fields are all there is of them: they are kept in a run's folder, in processor.json."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from saccade.data.whole_file import write_whole
from saccade.paths import read_text
from saccade.types import UserError

FILE = 'processor.json'
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, MemoryError, RecursionError)


class ProcessorBase:
    """Base of a processor. A subclass is a frozen dataclass. Attributes: of_what, the examples, in words."""

    of_what: ClassVar[str]

    @classmethod
    def load(cls, folder: Path) -> 'ProcessorBase | None':
        """Read the processor of a folder; None where there is none.

        Raises:
            UserError: its file is damaged.
        """
        return cls._of_file(Path(folder) / FILE, cls._fields)

    @property
    def digest(self) -> str:
        """The SHA-256 of all fields, in hexadecimal."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()

    def save(self, folder: Path) -> None:
        """Write processor.json into a folder.

        Raises:
            UserError: it cannot be written.
        """
        write_whole(Path(folder) / FILE, json.dumps(asdict(self)) + '\n', 'the processor')

    @classmethod
    def _fields(cls, found: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of what a file holds; lists are of numbers."""
        return {name: tuple(map(float, value)) if isinstance(value, list) else value for name, value in found.items()}

    @classmethod
    def _of_file(cls, file: Path, fields: Callable[[Any], dict[str, Any] | None]) -> 'ProcessorBase | None':
        """Return the processor of a file, if it is there and has fields of one."""
        if not file.is_file():
            return None
        try:
            found = fields(json.loads(read_text(file)))
            return None if found is None else cls(**found)
        except _DAMAGE as error:
            raise UserError(f'{file}: is not a processor of {cls.of_what}: {error!r}') from error
        except UserError as error:
            raise UserError(f'{file}: {error}') from None
