# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Images: their processor, rows of images decoded on demand, and datasets of labelled images.

Not here: random augmentations in training (`augment/`); generated images (`data/synthetic`).
"""
