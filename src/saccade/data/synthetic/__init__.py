# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Synthetic datasets with known answers: dates, SCAN, copying, sorting, sounds, pictures, graphs.

Not here: the user's files (`data/corpus/`).
"""
