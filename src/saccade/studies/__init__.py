# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Reproducible studies: claims about recurrence, attention and decoding, and attention computed by hand.

Not here: reports of the user's own runs (`analysis/report/`).
"""
