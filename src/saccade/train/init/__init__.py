# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Initial weights from another model: some of them (`partial`), in other shapes (`upcycle`), or its architecture too.

Not here: the reading of weights (`train/trained.py`, `hub/`).
"""
