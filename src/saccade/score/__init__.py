# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Score terms that depend on content, one per file: cosine similarity, forget gate, squared distance.

Their functions, and terms without modules, are in `ops/`; scores by position are in `position/`.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.score')
