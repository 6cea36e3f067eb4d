# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a step takes on chips that need not be there: memory, FLOPs, collectives.

Not here: what was measured (`benchmark/`).
"""
