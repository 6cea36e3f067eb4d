# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent decoders (Bahdanau, Luong, fixed context), their attention (soft, local, hard) and the gradient
estimators of hard attention, one per file.

Score functions are in `recurrent/score/`.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.recurrent.decoder')
