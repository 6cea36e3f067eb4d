# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks: cells, recurrent mixers, and encoders and decoders of recurrent seq2seq models.

The seq2seq model is in `model/`; fixed-state mixers such as linear attention are in `attention/`.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.recurrent')
