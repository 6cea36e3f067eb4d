# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""References: the right texts that a generated text is compared with, one or several."""

from collections.abc import Sequence

References = Sequence[str | Sequence[str]]


def several(references: str | Sequence[str]) -> Sequence[str]:
    """Return the references of one text."""
    return (references,) if isinstance(references, str) else references
