# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Embeddings: from the inputs of a batch (tokens, frames ...) to one vector for each place, one a file.

Not here: positions of what is embedded (`position/`); the table of a vocabulary, which a model shares with its output.
"""
