# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Datasets and the input pipeline. Here at the door is what all of them share: the recipe of preparing, the cache,
splits and batches.

Not here: what is random per step, such as masking, which tasks draw on the device (`task/`).
"""

from saccade.extras import TRAIN, require

require(TRAIN, 'saccade.data')
