# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Decoding: greedy search, sampling, beam search, and masked-token prediction.

Not here: the decoding step of a model with its cache (`model/`, `attention/`).
"""
