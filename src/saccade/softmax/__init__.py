# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax and its alternatives, which turn scores into attention weights: entmax, sigmoid, top-k, one a file.

Not here: what changes the scores before (`score/`, `position/`), and the kernels that apply both (`attention/`).
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.softmax')
