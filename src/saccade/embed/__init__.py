# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Embeddings: map the inputs of a batch (tokens, frames ...) to one vector per place; one per file.

Positions are in `position/`. The model has the embedding table of the vocabulary, which its output can share.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.embed')
