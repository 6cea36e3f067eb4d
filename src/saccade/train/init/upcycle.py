# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Upcycling: convert weights to a similar architecture, by `adapt` in a config.

    --config.init_from=runs/multi_head --config.model.block.mixer.key_value_heads=2 \\
    --config.adapt="{'use': 'train.init.upcycle:grouped'}"
"""

from collections.abc import Mapping

import jax
import numpy as np
from einops import reduce

from saccade.axes import letters_of
from saccade.train.optimizer import each_leaf
from saccade.train.start import Wanted
from saccade.types import Params

__all__ = ['grouped']

Array = jax.Array | np.ndarray  # of a run, or of a Hugging Face directory


def grouped(params: Params, wanted: Mapping[str, Wanted], /) -> Params:
    """Give attention fewer key/value heads: each is the mean of its group of heads.

    Ainslie et al. 2023, "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints",
    section 2.1, https://arxiv.org/abs/2305.13245. Differential attention, whose key heads are of two kinds, is not
    supported: the mean would mix both.

    Args:
        wanted: by path. A parameter that already fits, has no axis K, or cannot be made to fit is returned unchanged.
    """
    return each_leaf(params, lambda path, leaf: _averaged(leaf, wanted[path]) if path in wanted else leaf)


def _averaged(leaf: Array, place: Wanted) -> Array:
    letters = letters_of(place.axes or '')
    if leaf.shape == place.shape or leaf.ndim != len(letters) or 'K' not in letters:
        return leaf
    axis = letters.index('K')
    heads, rest = place.shape[axis], ' '.join(f'axis_{number}' for number in range(axis + 1, leaf.ndim))
    return leaf if leaf.shape[axis] % heads else reduce(leaf, f'... (K G) {rest} -> ... K {rest}', 'mean', K=heads)
