# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Heads: from hidden states to the predictions of a task, one a file.

Not here: the loss (`task/`).
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.head')
