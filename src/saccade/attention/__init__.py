# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention mixers, and the kernels with which they attend, one a file.

Not here: recurrent and convolutional mixers (`recurrent/mixer/`), and arithmetic without parameters (`ops/`).
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.attention')
