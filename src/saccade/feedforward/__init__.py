# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Feed-forward layers and routers of mixtures of experts, one a file.

Not here: the residual branch around them (`block/`).
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.feedforward')
