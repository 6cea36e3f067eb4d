# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Adapters, one file a library: `TITLE`, `REQUIRES` and `layers()`, the function that makes each layer by its name."""
