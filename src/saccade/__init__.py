# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Saccade: the whole line of attention in one JAX/Flax codebase."""
