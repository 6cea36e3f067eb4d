# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of speed and memory against other libraries, in turns in one run, as ratios. Only this room imports torch.

What runs in a worker process imports neither JAX nor PyTorch unless it is the one to be measured.

Not here: what a step is expected to take (`analysis/preflight/`).
"""
