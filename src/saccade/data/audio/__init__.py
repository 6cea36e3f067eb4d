# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sound: its processor, rows of log-mel frames computed on demand, and folders of WAV files.

Not here: generated sounds (`data/synthetic`); precomputed frames (`data/frames`).
"""
