# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics: generated sequences of tokens with known answers, each a test of one ability.

Recall (`recall`, `in_context`), copying (`copying`), compression (`compression`), state tracking (`word_problem`),
formal languages (`regular`, `counter`, `stack`, `transduction`), arithmetic of lists (`list_operations`) and of binary
numbers (`arithmetic`), and memorization (`memorization`).

Not here: source-target pairs for encoder-decoders (`synthetic/`).
"""
