# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks: cells, mixers made of them, and encoders and decoders of recurrent seq2seq models.

Not here: the seq2seq model around them (`model/`), and fixed-state mixers such as linear attention (`attention/`).
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names(
    'saccade.recurrent', others={room: f'saccade.recurrent.{room}' for room in ('cell', 'decoder', 'mixer', 'score')}
)
