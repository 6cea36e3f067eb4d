# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Feed-forward layers and routers of mixtures of experts, one per file. Residual branches are in `block/`."""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.feedforward')
