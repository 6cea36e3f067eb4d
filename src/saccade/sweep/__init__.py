# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweeps: many runs from one config, executed by an engine: local processes, or Slurm.

Not here: comparison of the runs (`analysis/report/`).
"""
