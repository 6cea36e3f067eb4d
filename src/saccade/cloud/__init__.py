# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training on Cloud TPUs, through the `gcloud` command and nothing else.

Not here: Slurm (`sweep/slurm.py`).
"""
