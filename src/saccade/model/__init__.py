# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Whole networks, and how their layers are stacked.

Not here: anything about training or data.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.model')
