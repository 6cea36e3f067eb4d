# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of predictions over a whole split, computed on the host, with 95% intervals: one kind of prediction per file.

Not here: losses (`task/`).
"""
