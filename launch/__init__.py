# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Launchers: one command each, `python launch/train.py` in a clone, `saccade train` where the package is installed."""
