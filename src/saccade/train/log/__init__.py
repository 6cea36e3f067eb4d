# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Logging of a run: metrics, sinks, provenance, the progress display.

Not here: the results of evaluations (`train/evaluate.py`).
"""
