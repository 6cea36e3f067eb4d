# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Bi-encoders of texts, and dual encoders of images and texts, compared by the cosine of their embeddings."""
