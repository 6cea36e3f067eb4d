# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""How a mixer, a feed-forward layer and norms make a layer."""
