# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Heat maps of attention weights, queries by keys, each with a colour bar and labelled axes."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.image import AxesImage

from saccade.analysis.report.drawing import COLOURS

LEAST = 1e-9  # minimum end of a scale, for cells that are all 0
SHARES = LinearSegmentedColormap.from_list('shares', ['#ffffff', '#9cc8e3', COLOURS[0], '#00263f'])
SIGNED = LinearSegmentedColormap.from_list('signed', [COLOURS[0], '#ffffff', COLOURS[1]])


def shares(axes: Axes, cells: Float[np.ndarray, 'T S'], most: float) -> AxesImage:
    """Draw cells from 0 (white) to `most`."""
    return _cells(axes, cells, cmap=SHARES, vmin=0.0, vmax=max(most, LEAST))


def signed(axes: Axes, cells: Float[np.ndarray, 'T S'], most: float) -> AxesImage:
    """Draw cells from -`most` to `most`; 0 is white."""
    return _cells(axes, cells, cmap=SIGNED, vmin=-max(most, LEAST), vmax=max(most, LEAST))


def scale(image: AxesImage, axes: Axes | Sequence[Axes], label: str) -> Colorbar:
    """Draw the colour bar of an image next to axes."""
    bar = image.figure.colorbar(image, ax=axes, label=label, fraction=0.05, aspect=25, shrink=0.9)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, width=0.6)
    return bar


def _cells(axes: Axes, cells: Float[np.ndarray, 'T S'], **colours: object) -> AxesImage:
    axes.grid(False)
    axes.spines[:].set_visible(True)  # so that white cells have an edge
    return axes.imshow(cells, interpolation='none', aspect='equal', **colours)
