# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Complete models, and the stack of layers. Training and data are in other packages."""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.model')
