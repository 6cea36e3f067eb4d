# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks: the batch that is made of a row, the loss and the metrics of each objective.

Not here: metrics of whole splits (`metric/`), and the baselines they are compared with (`baseline/`).
"""
