# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training: experiment, step, optimizer, mesh, checkpoints and loop; and opening what was trained.

Not here: any concrete model, task or dataset, which a config names.
"""

from saccade.extras import TRAIN, require

require(TRAIN, 'saccade.train')
