# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixers of recurrence or convolution, one a file, which stand in a block in the place of attention.

Not here: linear attention and other mixers with queries and keys (`attention/`).
"""
