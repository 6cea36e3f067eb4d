# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks, one training objective per file: the batch, the loss and the metrics.

Not here: metrics of whole splits (`metric/`), and the baselines they are compared with (`baseline/`).
"""
