# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Conformance: the same contracts for the attention and recurrent layers of every library.

Repository only, not in the wheel. `layer`, `contracts` and `run` need only NumPy, so they run in the environment of any
library. `libraries/` has one adapter file per library; `reproductions/` shows each failure without Saccade.
"""
