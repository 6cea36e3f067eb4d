# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Chart of a claim's figures: one line per model, y on a logarithmic axis."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import matplotlib
from matplotlib.figure import Figure

from saccade.analysis.report.drawing import COLOURS, MARKERS
from saccade.analysis.report.figures import MeasurementReport
from saccade.train.workdir import write_atomically
from saccade.types import UserError

ENDINGS = ('.png', '.svg', '.pdf')


@dataclass(frozen=True)
class Chart:
    """Line chart with a logarithmic y axis.

    Attributes: names of the axes; x; the y of each line at each x, 0 for missing points; the scale of x.
    """

    across: str
    along: str
    x: Sequence[int | float]
    lines: Mapping[str, Sequence[int | float]]
    scale: Literal['log', 'linear'] = 'log'

    def save(self, path: Path) -> None:
        """Write the chart atomically, in the format of the file's ending.

        Raises:
            UserError: the ending is not supported, or the file cannot be written.
        """
        require_ending(path)
        with matplotlib.rc_context({'font.size': 9.5, 'axes.grid': True, 'grid.alpha': 0.25}):
            figure = Figure((7.6, 4.0), layout='constrained')
            axes = figure.add_subplot(xscale=self.scale, yscale='log', xlabel=self.across, ylabel=self.along)
            for place, (name, y) in enumerate(self.lines.items()):
                points = [(x, value) for x, value in zip(self.x, y, strict=True) if value > 0]
                style = {'color': COLOURS[place % len(COLOURS)], 'marker': MARKERS[place % len(MARKERS)]}
                axes.plot([x for x, _ in points], [y for _, y in points], label=name, markersize=4.5, **style)
            figure.legend(loc='outside right upper', frameon=False)  # next to the axes, so that it hides no line
            file = io.BytesIO()
            figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)
        write_atomically(path, file.getvalue())


@dataclass(frozen=True)
class Claim:
    """Result of a claim. Attributes: report of the figures; their chart."""

    report: MeasurementReport
    chart: Chart


def require_ending(path: Path) -> None:
    """Raise a UserError if the ending of a file name is not supported."""
    if path.suffix.lower() not in ENDINGS:
        raise UserError(f'{path}: a chart is written to a file that ends in {", ".join(ENDINGS)}')
