# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells, one a file: RNN, LSTM, GRU.

Not here: what runs a cell over a sequence (`recurrent/mixer/`, `recurrent/encoder.py`, `recurrent/decoder/`).
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.recurrent.cell')
