# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows: packing, padding, windows, and frames of special tokens.

Not here: the source of the texts (`data/corpus/`).
"""
