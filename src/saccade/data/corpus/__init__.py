# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Corpora: sources of texts and records, from the embedded documentation, TFDS datasets, and the user's files.

TFDS takes half a second to import, so modules that subclass its builders are imported inside functions, after the
user's files were found to be readable.

Not here: conversion to rows (`data/text/`, `data/encoder/`, `data/pairs/`).
"""
