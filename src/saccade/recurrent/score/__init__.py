# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Score functions between a decoder state and the encoder states: dot, general, additive.

Score terms of multi-head attention, which modify existing scores, are in `score/`.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.recurrent.score')
