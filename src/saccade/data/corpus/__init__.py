# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Corpora: sources of texts and records, which are the embedded documentation, TFDS datasets, and the user's own files.

TFDS takes half a second to import: modules that subclass its builders are imported by the functions that use them, once
a file of the user's own is known to be readable.

Not here: how they become rows (`data/text/`, `data/encoder/`, `data/pairs/`).
"""
