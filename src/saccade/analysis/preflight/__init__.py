# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Preflight: memory, FLOPs and collectives of a step, for devices without access to them.

Measurements are in `benchmark/`.
"""
