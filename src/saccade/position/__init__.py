# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Position encodings, one per file: added to embeddings (learned, sinusoid), applied to queries and keys (rotary,
xPos), or added to scores by distance (ALiBi, T5's bias, Transformer-XL).

Score terms that depend on content are in `score/`.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.position')
