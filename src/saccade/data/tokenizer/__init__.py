# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers and their trainers, one kind per file.

Not here: the positions of special tokens in a row (`data/rows/`).
"""
