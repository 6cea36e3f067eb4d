# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Datasets for encoders: passages and sentence pairs for pretraining, and labelled examples for fine-tuning.

Not here: source and target texts (`data/pairs/`).
"""
