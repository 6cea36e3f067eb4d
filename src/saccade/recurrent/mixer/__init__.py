# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent and convolutional mixers, alternatives to attention; one per file.

Linear attention and other mixers with queries and keys are in `attention/`.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.recurrent.mixer')
