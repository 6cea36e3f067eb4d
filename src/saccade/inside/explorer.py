# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Explorer of attention maps: one HTML file that opens offline, from explorer.html.jinja, explorer.css and explorer.js.

The weights of a head are base64 of zlib of float32 [T S], little-endian. If all maps exceed EXACT bytes, they are the
largest magnitude of each row, float32 [T], then the square roots of the weights' shares of it, in 255 steps (127 of
each sign if signed): the error is at most 0.4% (0.8%) of the row's largest weight, and less for smaller weights. The
page decodes a head when it is first seen.

The view of lines between tokens follows Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model",
https://arxiv.org/abs/1906.05714.
"""

import base64
import hashlib
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from saccade.inside.maps import MEAN, AttentionMap, Explored

EXACT = 16 * 2**20  # bytes of float32 weights, above which a page has 8-bit weights
_FOLDER = Path(__file__).parent
_LAYER = re.compile(r'\blayers\.(\d+)(?:\.pass_(\d+))?\.?')

Measures = Mapping[str, Mapping[str, Float[np.ndarray, ' N']]]  # by name of the map, and of the measure


def page(explored: Explored, first: AttentionMap, head: int | None, measures: Measures | None = None) -> str:
    """Return the page, which opens with a map and a head of it, or with the MEAN over heads.

    Args:
        head: None for head 0.
        measures: values by head to show with each map.
    """
    size = sum(each.weights.nbytes for each in explored.maps)
    exact = size <= EXACT
    labels = list(dict.fromkeys(side for each in explored.maps for side in (each.queries, each.keys)))
    about = {
        'exact': exact,
        'labels': labels,
        'maps': [_described(each, labels, (measures or {}).get(each.name, {})) for each in explored.maps],
        'first': {'map': explored.maps.index(first), 'head': len(first.weights) if head == MEAN else head or 0},
        'pixels': None if explored.pixels is None else explored.pixels.shape[:2],
    }
    blocks = {
        f'weights-{number}-{place}': _packed(weights, exact, each.is_signed)
        for number, each in enumerate(explored.maps)
        for place, weights in enumerate(each.weights)
    }
    if explored.pixels is not None:
        blocks['pixels'] = _coded(_rgba(explored.pixels))
    script = (_FOLDER / 'explorer.js').read_text(encoding='utf-8')
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    templates.policies['json.dumps_kwargs'] = {}  # measures in their own order
    return templates.get_template('explorer.html.jinja').render(
        text=' '.join(explored.text.split()),
        source=explored.source,
        about=about,
        blocks=blocks,
        size=size,
        error='0.8%' if any(each.is_signed for each in explored.maps) else '0.4%',
        script=Markup(script),
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=Markup((_FOLDER / 'explorer.css').read_text(encoding='utf-8')),
    )


def _described(one: AttentionMap, labels: list[tuple[str, ...]], measures: Mapping[str, Any]) -> dict[str, Any]:
    found = _LAYER.search(one.name)
    layer = '' if found is None else found[1] + (f', pass {found[2]}' if found[2] else '')
    return {
        'name': one.name,
        'set': f'{_LAYER.sub("", one.name)}: {one.kind}',
        'layer': layer,
        'note': one.note,
        'grid': one.grid,
        'isCross': one.is_cross,
        'isSigned': one.is_signed,
        'queries': labels.index(one.queries),
        'keys': labels.index(one.keys),
        'most': np.abs(one.weights).max(axis=(1, 2)).tolist(),
        'measures': {
            name: [float(each) if np.isfinite(each) else None for each in by] for name, by in measures.items()
        },
    }


def _packed(weights: Float[np.ndarray, 'T S'], exact: bool, is_signed: bool) -> str:
    if exact:
        return _coded(weights.astype('<f4').tobytes())
    most = np.abs(weights).max(axis=1)
    steps, kind = (127, np.int8) if is_signed else (255, np.uint8)
    roots = np.sqrt(np.abs(weights) / np.maximum(most, np.finfo(np.float32).tiny)[:, None])
    return _coded(most.astype('<f4').tobytes() + np.rint(steps * np.sign(weights) * roots).astype(kind).tobytes())


def _coded(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


def _rgba(pixels: Float[np.ndarray, 'H W C']) -> bytes:
    """Return pixels as 8-bit RGBA."""
    colours = np.broadcast_to(pixels, (*pixels.shape[:2], 3)) if pixels.shape[-1] == 1 else pixels[..., :3]
    opaque = np.concatenate([colours, np.ones_like(colours[..., :1])], axis=-1)
    return np.rint(255 * opaque.clip(0, 1)).astype(np.uint8).tobytes()
