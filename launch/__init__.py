# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Launchers: one command each, `python launch/train.py` in a clone, `saccade train` where the package is installed.

A launcher imports what its flags need at its top, and everything else in the function that uses it. So --help and a
wrong flag take no time: JAX alone takes a second to import.
"""
