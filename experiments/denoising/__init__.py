# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Models that restore what was corrupted: T5, UL2, prefix language models."""
