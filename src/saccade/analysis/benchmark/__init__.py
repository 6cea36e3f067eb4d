# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Speed and memory, measured side by side with the peer in one run, as ratios.

What runs in a worker process imports neither JAX nor PyTorch unless it is the one to be measured.
"""
