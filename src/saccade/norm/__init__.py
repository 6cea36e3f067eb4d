# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Normalisation layers, one per file. Blocks (`block/`) determine where they are applied."""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.norm')
