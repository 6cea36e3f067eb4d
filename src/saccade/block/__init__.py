# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Blocks: how a mixer, a feed-forward layer, norms and residual connections make a layer, one wiring a file.

Not here: how blocks are stacked (`model/stack.py`).
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.block')
