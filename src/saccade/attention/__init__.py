# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention mixers and attention kernels, one per file.

Recurrent and convolutional mixers are in `recurrent/mixer/`, functions without parameters in `ops/`.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.attention')
