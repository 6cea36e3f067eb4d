# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention maps over images: weights of the last layer's heads on the patches, next to each image.

The query is the class token if there is one, else the mean over all patches, as in figure 1 of Caron et al. 2021,
"Emerging Properties in Self-Supervised Vision Transformers", https://arxiv.org/abs/2104.14294.
"""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saccade.analysis.studies.chart import require_ending
from saccade.embed.patch import PatchEmbedding
from saccade.inside.heat_map import SHARES
from saccade.inside.inspection import by_layer, first_batch, watched
from saccade.train.workdir import write_atomically
from saccade.types import Count, UserError

SHOWN = 6  # images
_INCHES = 1.1  # inches per image


def draw_over_images(workdir: str, path: Path, images: Count = SHOWN) -> None:
    """Draw the first validation images of a run, each with the attention maps of the last layer's heads.

    Raises:
        UserError: there is no run in this folder, its model reads no patches or has no attention weights, or the
            picture cannot be written.
    """
    require_ending(path)
    experiment, trained, batch = first_batch(workdir)
    patch = next((part['patch'] for part in experiment.model.walk() if part.target is PatchEmbedding), None)
    if patch is None:
        raise UserError(f'--picture: {experiment.model.name} of {workdir} reads no patches of images')
    _, weights = watched(experiment, trained.params, batch)
    pixels = np.asarray(batch['images'][:images], np.float64)
    grid = pixels.shape[1] // patch, pixels.shape[2] // patch
    found = [np.asarray(of) for tower, _, branch, of in by_layer(weights) if tower != 'text' and branch == 'mixer']
    if not found:
        raise UserError(f'--picture: the mixers of {workdir} have no attention weights')
    maps = of_patches(found[-1][:images], grid)
    figure = Figure(figsize=(_INCHES * (1 + maps.shape[1]), _INCHES * len(maps)), layout='constrained')
    panels = figure.subplots(len(maps), 1 + maps.shape[1], squeeze=False).ravel()
    for axes, (title, cells) in zip(panels, _panels(pixels, maps), strict=True):
        _draw(axes, title, cells)
    file = io.BytesIO()
    figure.savefig(file, format=path.suffix[1:].lower(), dpi=160)
    write_atomically(path, file.getvalue())


def of_patches(weights: Float[np.ndarray, 'B N T T'], grid: tuple[int, int]) -> Float[np.ndarray, 'B N rows columns']:
    """Return the attention maps over the patches of a grid: of the first token, if there are tokens before the grid."""
    before = weights.shape[-1] - grid[0] * grid[1]
    query = weights[:, :, 0] if before else weights.mean(axis=2)
    return query[..., before:].reshape(*query.shape[:2], *grid)


def _panels(pixels: np.ndarray, maps: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the image and its maps, row by row, with titles in the first row."""
    for number, (image, heads) in enumerate(zip(pixels, maps, strict=True)):
        low, high = image.min(), image.max()
        yield '' if number else 'image', (image - low) / max(high - low, 1e-9)
        for head, cells in enumerate(heads, start=1):
            yield '' if number else f'head {head}', cells


def _draw(axes: Axes, title: str, cells: np.ndarray) -> None:
    grey = cells.ndim == 3 and cells.shape[-1] == 1
    axes.imshow(cells[..., 0] if grey else cells, cmap='gray' if grey else SHARES, interpolation='none')
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(title, fontsize=8)
