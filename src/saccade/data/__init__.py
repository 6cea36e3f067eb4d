# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Datasets and the input pipeline. This top level has the common code: the base of datasets, the cache, splits and
batches.

Not here: randomness per step, such as masking, which tasks draw on the device (`task/`).
"""

from saccade.extras import TRAIN, require

require(TRAIN, 'saccade.data')
