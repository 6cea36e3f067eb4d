# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pure functions of arrays: attention arithmetic, masks, score terms, losses, FLOP counts.

Functions with parameters are Flax modules, in the package of their kind.
"""
