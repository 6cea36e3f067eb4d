# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sequences of frames, vectors of F numbers such as the bands of a spectrogram: their rows and their processor.

Not here: the generation of frames (`synthetic/`).
"""
