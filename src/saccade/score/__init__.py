# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Score terms that depend on content and have parameters, one a file: cosine similarity, squared distance.

Not here: terms without parameters (`ops/term.py`), and scores by position (`position/`).
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.score')
