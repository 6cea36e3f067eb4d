# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Experiments on graphs, with nodes and edges as tokens and node identifiers."""
