# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells, one per file: RNN, LSTM, GRU, sLSTM.

`recurrent/mixer/`, `recurrent/encoder.py` and `recurrent/decoder/` run cells over sequences.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.recurrent.cell')
