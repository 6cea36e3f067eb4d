# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Process of a launcher: flags and errors, signals, memory, compilation cache, locks, the other processes of the run.

Not here: anything that depends on an experiment.
"""
