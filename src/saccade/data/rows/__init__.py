# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows: how tokens are packed, padded, windowed and framed by special tokens.

Not here: where the texts come from (`data/corpus/`).
"""
