# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Preflight: memory, FLOPs and collectives of a step, for devices without access to them.

Not here: what was measured (`benchmarks/`, at the root of the repository).
"""
