# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face weights and tokenizers, read from a local directory into our models: one family a file.

Not here: runs of our own (`train/trained.py`).
"""
