# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent and convolutional mixers, one a file, which a block has instead of attention.

Not here: linear attention and other mixers with queries and keys (`attention/`).
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.recurrent.mixer')
