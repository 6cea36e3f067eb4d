# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax variants, which map scores to attention weights: softmax, entmax, sigmoid, top-k ...; one per file.

Score terms are in `score/` and `position/`, kernels in `attention/`.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.softmax')
