# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sequence to sequence: recurrent models, Transformers, T5; translation, summaries and generated tasks."""
