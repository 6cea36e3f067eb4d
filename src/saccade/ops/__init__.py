# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pure functions of arrays: attention arithmetic, masks, score terms, losses, FLOP counts.

Not here: anything with parameters (that is a Flax module, in the room of its kind).
"""
