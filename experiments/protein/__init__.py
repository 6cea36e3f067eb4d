# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Experiments on proteins: one token a residue, hidden residues and classes of sequences."""
