# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sequences of frames, vectors of F numbers each, such as the bands of a spectrogram: their rows and their processor.

Not here: where they come from (`synthetic/`).
"""
