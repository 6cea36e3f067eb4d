# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Synthetic datasets, whose right answers are known: dates, SCAN, copying, sorting.

Not here: files of the user's own (`data/corpus/`).
"""
