# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Baselines without a network, one per file, which a trained model must beat.

Not here: trained models.
"""
