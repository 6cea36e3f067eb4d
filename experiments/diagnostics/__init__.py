# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics: one ability at a time, on drawn sequences whose right answers are known."""
