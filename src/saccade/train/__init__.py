# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training: experiment, step, optimizer, mesh, checkpoints and loop; and opening what was trained.

Libraries that take long to import (Grain, Orbax, TFDS, tensorboardX, Pallas, SciPy's statistics, matplotlib) are
imported at the top of the functions that use them, so that an error in a flag, a config or the data is reported without
them.

Not here: any concrete model, task or dataset, which a config names.
"""

from saccade.extras import TRAIN, require

require(TRAIN, 'saccade.train')
