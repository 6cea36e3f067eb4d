# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Experiments: configs and sweeps that launchers run. They import `ml_collections` and each other alone, so one loads
without JAX.

Copy a file to where you like and change it: what it imports, as `saccade.experiments.causal_lm.base`, is found there
too.
"""
