# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What finished runs and models show, and what a run will cost.

Not here: speed beside other libraries (`benchmark/`).
"""
