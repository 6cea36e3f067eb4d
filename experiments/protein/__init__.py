# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Experiments on proteins, with one token per residue: masked residues and classification of sequences."""
