# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Inspection of one trained model: attention, alignments, decompositions, gradients, embeddings, parameters.

Comparisons of several runs are in `analysis/report/`.
"""
