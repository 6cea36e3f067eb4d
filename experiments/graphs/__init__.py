# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Experiments on graphs: tokens of nodes and edges in, told apart by node identifiers."""
