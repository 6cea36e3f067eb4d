# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Datasets of running text, for language models, denoising and skip-grams.

Not here: text for encoders (`data/encoder/`).
"""
