# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention maps of a model on its inputs: the activations named `pattern`, with the labels of queries and keys."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from saccade.inside.activations import Inside
from saccade.inside.maps import AttentionMap
from saccade.inside.reading import WRITTEN, Reading
from saccade.types import Part, UserError


def maps_of(inside: Inside, reading: Reading) -> tuple[AttentionMap, ...]:
    """Return the attention of every layer, for the first row of the inputs.

    Raises:
        UserError: no layer has attention, explicit or implied.
    """
    names = [name for name in inside.places if name.rpartition('.')[2] == 'pattern']
    if not names:
        raise UserError(f'{Part(type(inside.model)).name}: no layer has attention weights or values that imply them')
    _, found = inside.run(names)
    return tuple(_map(_module(name), found[name][0], found.places[name].note, reading) for name in found)


def _module(name: str) -> str:
    """Return the name of the module that attends; a recurrent decoder reads its source itself, without a module."""
    module = name.rpartition('.')[0]
    return module if module not in ('', 'decoder') else 'decoder.cross'


def _map(name: str, weights: Float[np.ndarray, 'N T S'], note: str, reading: Reading) -> AttentionMap:
    if '.backward' in name:  # attention.both_directions:BothDirections runs this mixer from the last token to the first
        weights = weights[:, ::-1, ::-1]
    tower = next((tower for tower in reading.labels if name.startswith(f'{tower}.')), '')
    queries = keys = reading.labels.get(tower, ())
    if name.endswith('.cross'):
        queries, keys = reading.labels[WRITTEN], reading.labels['encoder']
    _, T, S = weights.shape
    queries, keys = _filled(queries, T), _filled(keys, S)
    return AttentionMap(name, np.asarray(weights, np.float32), queries, keys, note, reading.grid)


def _filled(labels: Sequence[str], count: int) -> tuple[str, ...]:
    """Return labels for tokens, some of which a layer or the embedding added before the inputs."""
    return (*(f'+{number}' for number in range(count - len(labels))), *labels)
