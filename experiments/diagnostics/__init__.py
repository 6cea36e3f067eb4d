# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics: one ability at a time, on generated sequences with known answers."""
