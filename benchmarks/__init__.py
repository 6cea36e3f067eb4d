# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of speed and memory against other libraries, as ratios; and simulations of the intervals in reports.

Libraries are measured in turns in one run.

`python -m benchmarks` and `python -m benchmarks.accelerate`, from the repository's root: a wheel has none of this. Only
here are torch and transformers imported; what runs in a worker process imports neither JAX nor PyTorch unless it is
the one to be measured.

Not here: what a step is expected to take (`saccade/analysis/preflight/`).
"""
