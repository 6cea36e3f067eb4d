# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Datasets of a source text and a target text.

Not here: generated pairs (`data/synthetic/`).
"""
