# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Datasets for encoders: passages and sentence pairs to pretrain on, and labelled examples to fine-tune on.

Not here: source and target texts (`data/pairs/`).
"""
