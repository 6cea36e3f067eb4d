# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks: the batch that a row becomes, the loss, and the metrics of each training objective.

Not here: metrics of whole splits (`metric/`), and the baselines they are compared with (`baseline/`).
"""
