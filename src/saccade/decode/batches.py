# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Default batch sizes of trained models in use; a partial batch is padded to them, so that few programs are compiled.

Flags show them as their defaults, so this file imports nothing.
"""

PREDICTED = 16  # texts or other examples
TRANSLATED = 16  # texts
ENCODED = 32  # texts to search, and queries
COMPARED = 64  # images, and prompts for their classes
