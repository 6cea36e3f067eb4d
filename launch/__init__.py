# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Launchers: one command each, `python launch/train.py` in a clone, `saccade train` in an installed package.

A launcher imports only the requirements of its flags at the top, and everything else in functions: importing JAX takes
a second, which --help and errors in flags need not wait for.
"""
