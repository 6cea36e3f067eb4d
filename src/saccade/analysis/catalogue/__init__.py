# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The catalogue of variants: discovered by itself, each with a small spec and its declared capabilities.

Not here: measurements of them.
"""
