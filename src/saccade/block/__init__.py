# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Transformer blocks: mixer, feed-forward layer, norms and residual connections; one block type per file.

Stacking of blocks is in `model/stack.py`.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.block')
