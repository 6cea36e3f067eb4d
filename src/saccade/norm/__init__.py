# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Normalisation layers, one a file.

Not here: where a block applies them (`block/`).
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.norm')
