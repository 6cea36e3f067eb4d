# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Images: their processor, rows of them that are decoded when they are asked for, and datasets of labelled ones.

Not here: random changes in training (`augment/`); images that are drawn (`data/synthetic`).
"""
