# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Corpora: sources of texts and records, which are the embedded documentation, TFDS datasets, and the user's own files.

Not here: how they become rows (`data/text/`, `data/encoder/`, `data/pairs/`).
"""
