# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Experiments: configs and sweeps for the launchers. They import only `ml_collections` and each other, so an experiment
loads without JAX.

Copy a file to any folder and change it: its imports, such as `saccade.experiments.causal_lm.base`, work from
everywhere.
"""
