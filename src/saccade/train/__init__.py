# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training: experiment, step, optimizer, mesh, checkpoints and loop; and loading of trained models.

Libraries with a slow import (Grain, Orbax, TFDS, tensorboardX, Pallas, SciPy's statistics, matplotlib) are imported
inside functions, so an error in a flag, a config or the data is reported before they are imported.

Not here: concrete models, tasks and datasets, which a config names.
"""

from saccade.extras import TRAIN, require

require(TRAIN, 'saccade.train')
