# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweeps: many runs from one config, by an engine: processes here, or Slurm.

Not here: comparing the runs (`analysis/report/`).
"""
