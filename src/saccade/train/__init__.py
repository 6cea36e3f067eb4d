# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training: experiment, step, optimizer, mesh, checkpoints and loop; and loading of trained models.

The package is also a function. It trains the run of a config in a folder, or resumes it, and returns the final
evaluation:

    saccade.train(config, 'runs/a')         a config, as `get_config()` of an experiment returns it, or the name of its
                                            file, such as 'causal_lm/quickstart'

Libraries with a slow import (Grain, Orbax, TFDS, tensorboardX, Pallas, SciPy's statistics, matplotlib) are imported
inside functions, so an error in a flag, a config or the data is reported before they are imported.

Not here: concrete models, tasks and datasets, which a config names.
"""

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from ml_collections import ConfigDict

from saccade.extras import TRAIN, require

require(TRAIN, 'saccade.train')


class _Callable(ModuleType):
    """Package that can be called, since `saccade.train` is its name."""

    def __call__(self, config: str | Mapping[str, Any] | ConfigDict, workdir: str) -> dict[str, Any]:
        """Train to the end, resuming from the folder's checkpoints, and return the final evaluation.

        Args:
            config: of an experiment, or the path of its file.

        Raises:
            UserError: the config is inconsistent, or does not fit the data, the devices or the folder; or training
                diverged.
        """
        from saccade.train.config import load_config, resolved
        from saccade.train.loop import train

        return train(load_config(config) if isinstance(config, str) else resolved(config), workdir)


sys.modules[__name__].__class__ = _Callable
