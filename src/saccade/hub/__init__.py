# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face weights and tokenizers, read from a local directory into our models: one model family per file.

Not here: our own runs (`train/trained.py`).
"""
