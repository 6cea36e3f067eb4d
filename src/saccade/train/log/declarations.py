# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""File with the declared metrics of a run, which tells rankings the better direction without the run's code."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from saccade.paths import read_text
from saccade.train.workdir import write_atomically
from saccade.types import Metric, UserError


@dataclass(frozen=True)
class Declarations:
    """Declarations of the metrics of a run.

    Attributes: best_by, the metric that ranks its checkpoints; metrics, by name.
    """

    best_by: str = ''
    metrics: Mapping[str, Metric] = field(default_factory=dict)

    def write(self, file: Path) -> None:
        """Write the declarations as JSON.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        metrics = [asdict(metric) for metric in self.metrics.values()]
        write_atomically(file, json.dumps({'best_by': self.best_by, 'metrics': metrics}, indent=1) + '\n')


def read_declarations(file: Path) -> Declarations:
    """Read the declarations of a run; empty if there is no file.

    Raises:
        UserError: the file is damaged.
    """
    if not file.is_file():
        return Declarations()
    try:
        found = json.loads(read_text(file))
        metrics = [Metric(**metric) for metric in found['metrics']]
        return Declarations(found['best_by'], {metric.name: metric for metric in metrics})
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(f'{file}: not a valid declaration of metrics ({error}); remove it') from error
