# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Initial weights from another model: a part of them (`partial`), in other shapes (`upcycle`), or its architecture too.

Not here: reading them (`train/trained.py`, `hub/`).
"""
