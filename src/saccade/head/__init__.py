# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Output heads: map hidden states to the predictions of a task; one per file. Losses are in `task/`."""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.head')
