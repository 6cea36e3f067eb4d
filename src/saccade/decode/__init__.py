# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Decoding: greedy, sampling, beam search, and filling in masked tokens.

Not here: the step of a model with its cache (`model/`, `attention/`).
"""
