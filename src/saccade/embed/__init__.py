# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Embeddings: from the inputs of a batch (tokens, frames ...) to one vector for each place, one a file.

Not here: positions of what is embedded (`position/`); the table of a vocabulary, which a model shares with its output.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.embed')
