# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Atomic writes of text files."""

import os
import uuid
from pathlib import Path

from saccade.types import UserError


def write_whole(path: Path, text: str, what: str) -> None:
    """Write a text file atomically; `what` is a noun for it in the error.

    Raises:
        UserError: the file cannot be written.
    """
    draft = path.with_name(f'.{path.name}.{uuid.uuid4().hex}')
    try:
        draft.write_text(text, encoding='utf-8')
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UserError(f'cannot write {what} to {path}: {error.strerror}') from error
