# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Where texts and records come from: the embedded documentation, TFDS datasets, files of the user's own.

Not here: how they become rows (`data/text/`, `data/encoder/`, `data/pairs/`).
"""
