# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention maps of a model on one text or image, and their files: a page, pictures, exact values.

Layers and heads are numbered from 0, as in the names of activations: `layers.3.mixer.heads.2`.
"""

import html
import io
import sys
import tempfile
import webbrowser
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from saccade.nearest import nearest
from saccade.train.workdir import write_atomically
from saccade.types import UserError

ENDINGS = ('.html', '.pdf', '.png', '.svg', '.npz')
MEAN = -1  # number that stands for the mean over heads
_HEIGHT = 860  # CSS pixels of a page in a notebook


def require_ending(path: Path) -> None:
    """Raise a UserError if the ending of a file name is not supported."""
    if path.suffix.lower() not in ENDINGS:
        raise UserError(f'{path}: attention is written to a file that ends in {", ".join(ENDINGS)}')


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """Attention of one layer on one text.

    Attributes:
        name: name of the activation, as 'layers.3.mixer', 'decoder.layers.3.cross' or 'layers.3.pass_2.mixer'.
        weights: float32; may be negative where a linear mixer implies them.
        queries, keys: labels of T and of S.
        note: source of the weights, for a reader of the page; may be empty.
        grid: (rows, columns) of the image patches at the end of the keys, or None.

    Raises:
        UserError: a weight is infinite or not a number.
    """

    name: str
    weights: Float[np.ndarray, 'N T S']
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    note: str = ''
    grid: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not np.isfinite(self.weights).all():
            raise UserError(f'{self.name}: its attention weights are infinite or not numbers; has training diverged?')

    @property
    def is_cross(self) -> bool:
        """True if queries and keys are from two sequences; in one, other keys (a memory) may precede the queries."""
        return self.name.endswith('cross') or self.queries != self.keys[-len(self.queries) :]

    @property
    def is_signed(self) -> bool:
        """True if a weight is negative."""
        return bool((self.weights < 0).any())

    @property
    def kind(self) -> str:
        """Return the kind of attention, as printed: no weight of causal attention is on a later token."""
        if self.is_cross:
            return 'cross-attention'
        before = len(self.keys) - len(self.queries)
        return f'{"bidirectional" if np.triu(self.weights, 1 + before).any() else "causal"} self-attention'

    def head(self, number: int) -> Float[np.ndarray, 'T S']:
        """Return the weights of a head, or the MEAN over heads."""
        return self.weights.mean(axis=0) if number == MEAN else self.weights[number]

    def over_patches(self, number: int) -> Float[np.ndarray, 'rows columns']:
        """Return the weights of a head on the image patches.

        The query is the first token (the class token) if a token precedes the patches, else the mean over all queries,
        as in figure 1 of Caron et al. 2021, "Emerging Properties in Self-Supervised Vision Transformers",
        https://arxiv.org/abs/2104.14294.
        """
        weights, patches = self.head(number), self.grid[0] * self.grid[1]
        query = weights[0] if len(self.keys) > patches else weights.mean(axis=0)
        return query[-patches:].reshape(self.grid)


@dataclass(frozen=True, eq=False)
class Explored:
    """Attention of a model on one text or image.

    Attributes:
        text: the text, or the file name of an image.
        run: folder of the run, or of the Hugging Face directory.
        step: training step; None for a Hugging Face directory.
        maps: one per layer, and per kind of attention in it.
        pixels: image in [0, 1], or None.
    """

    text: str
    run: str
    step: int | None
    maps: tuple[AttentionMap, ...]
    pixels: Float[np.ndarray, 'H W C'] | None = None

    @property
    def source(self) -> str:
        """Return the run and the step, as printed."""
        return self.run if self.step is None else f'{self.run}, step {self.step:,}'

    def save(self, path: Path, layer: str | None = None, head: int | None = None) -> None:
        """Write a file atomically, in the format of its ending: a page, a picture, or exact values (.npz).

        Args:
            layer: name of a layer ('layers.3') or map; None for all. A page has all layers and opens with this one.
            head: number of a head from 0, or MEAN; None for all.

        Raises:
            UserError: the ending is not supported, the layer or head does not exist, or the file cannot be written.
        """
        require_ending(path)
        maps, ending = self._chosen(layer, head), path.suffix.lower()
        if ending == '.npz':
            write_atomically(path, self._exact(maps, head))
        elif ending == '.html':
            write_atomically(path, self._page(maps[0], head))
        else:
            from saccade.inside.pictures import picture  # imports matplotlib

            write_atomically(path, picture(self, maps, head, ending[1:]))

    def show(self) -> None:
        """Display the page in a notebook; elsewhere, open it in the browser."""
        shell = getattr(sys.modules.get('IPython'), 'get_ipython', lambda: None)()
        if shell is not None and hasattr(shell, 'kernel'):
            sys.modules['IPython'].display.display(self)
            return
        path = Path(tempfile.mkdtemp(prefix='saccade-')) / 'attention.html'
        self.save(path)
        webbrowser.open(path.as_uri())

    def _repr_html_(self) -> str:
        shown = html.escape(self._page(self._chosen(None, None)[0], None))
        style = f'width: 100%; height: {_HEIGHT}px; border: 0'
        return f'<iframe title="Attention" srcdoc="{shown}" style="{style}"></iframe>'

    def _page(self, first: AttentionMap, head: int | None) -> str:
        from saccade.inside.explorer import page  # imports Jinja2
        from saccade.inside.measures import of_head

        return page(self, first, head, {each.name: of_head(each) for each in self.maps})

    def _chosen(self, layer: str | None, head: int | None) -> list[AttentionMap]:
        """Return the maps of a layer, or all; each has this head."""
        found = [each for each in self.maps if layer is None or f'{each.name}.'.startswith(f'{layer}.')]
        if not self.maps:
            raise UserError(f'{self.run}: no layer has attention weights')
        if not found:
            names = [each.name for each in self.maps]
            raise UserError(f"layer '{layer}': there is no such layer with attention{nearest(layer, names)}")
        for each in found:
            last = len(each.weights) - 1
            if head is not None and not MEAN <= head <= last:
                raise UserError(f'head {head}: the heads of {each.name} are 0 to {last}; {MEAN} is their mean')
        return found

    def _exact(self, maps: list[AttentionMap], head: int | None) -> bytes:
        """Return .npz: the weights of each map [N T S], or of one head of it [T S], and the labels."""
        arrays = {'text': self.text, 'run': self.run} | ({} if self.step is None else {'step': self.step})
        for each in maps:
            weights = {each.name: each.weights} if head is None else {named(each, head): each.head(head)}
            labels = {'queries': each.queries, 'keys': each.keys}
            arrays |= weights | {f'{each.name}.{side}': np.array(tokens) for side, tokens in labels.items()}
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)
        return file.getvalue()


def named(one: AttentionMap, head: int) -> str:
    """Return the name of a head of a map, as 'layers.3.mixer.heads.2'; of the mean, 'layers.3.mixer.heads.mean'."""
    return f'{one.name}.heads.{"mean" if head == MEAN else head}'
