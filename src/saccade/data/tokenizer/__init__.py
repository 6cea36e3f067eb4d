# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers and how they are trained, one kind a file.

Not here: the special tokens' places in a row (`data/rows/`).
"""
