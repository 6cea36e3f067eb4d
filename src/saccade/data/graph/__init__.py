# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Labelled graphs as sequences of node and edge tokens (TokenGT): node identifiers, their processor, rows, and files.

Not here: generated graphs (`synthetic/`); random signs in training (`augment/`).
"""
