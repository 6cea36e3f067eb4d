# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of grids show all of their words."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from saccade.inside.grid import Grid, save

WHAT = 'rise of the loss of 4.938 nats when a head is set to its mean over the batch [nats]'


@pytest.mark.parametrize(('rows', 'columns'), [(3, 2), (2, 6), (12, 12)])
def test_no_word_is_cut_off(rows, columns, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(Figure, 'savefig', lambda figure, file, **_: drawn.append(figure))
    labels = [tuple(f'layers.{number}.mixer' for number in range(rows)), tuple(map(str, range(columns)))]
    save([Grid('Ablation of heads', WHAT, *labels, np.ones((rows, columns)))], tmp_path / 'a.png', 'Heads')
    (figure,) = drawn
    figure.draw_without_rendering()
    words = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert WHAT in ' '.join(' '.join(text.get_text().split('\n')) for text in words)
    edges = [text.get_window_extent() for text in words]
    assert all(edge.x0 >= 0 and edge.y0 >= 0 for edge in edges)
    assert all(edge.x1 <= figure.bbox.x1 and edge.y1 <= figure.bbox.y1 for edge in edges)
