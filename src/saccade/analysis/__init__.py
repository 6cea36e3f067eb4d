# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Analysis of finished runs and models, and prediction of the cost of a run.

Not here: speed compared with other libraries (`benchmarks/`, at the root of the repository).
"""
