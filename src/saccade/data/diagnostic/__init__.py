# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics: drawn sequences of tokens whose right answers are known, each a test of one ability.

Recall (`recall`, `in_context`), copying (`copying`), compression (`compression`), state tracking (`word_problem`),
formal languages (`regular`, `counter`, `stack`, `transduction`), arithmetic of lists (`list_operations`) and of binary
numbers (`arithmetic`), and what is learned by heart (`memorization`).

Not here: pairs of a source and a target for encoder-decoders (`synthetic/`).
"""
