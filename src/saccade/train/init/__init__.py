# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""First weights from another model: a part of it (`partial`), in other shapes (`upcycle`), its architecture.

Not here: reading them (`train/trained.py`, `hub/`).
"""
