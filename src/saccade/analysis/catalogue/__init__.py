# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Catalogue of variants: discovered automatically, each with a small spec and its declared capabilities.

Not here: measurements of them.
"""
