# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Upcycling: convert weights to a similar architecture, where a config asks for it by `adapt`.

    --config.init_from=runs/multi_head --config.model.block.mixer.key_value_heads=2 \\
    --config.adapt="{'use': 'train.init.upcycle:grouped'}"
"""

from collections.abc import Mapping

import jax
import numpy as np
from einops import reduce

from saccade.train.optimizer import each_leaf
from saccade.types import Params

Array = jax.Array | np.ndarray  # of a run, or of a Hugging Face directory

_PER_KEY_HEAD = ('key', 'value', 'key_bias', 'value_bias')


def grouped(params: Params, wanted: Mapping[str, tuple[int, ...]]) -> Params:
    """Give attention fewer key/value heads: each is the mean of the group of heads that it stands for.

    Ainslie et al. 2023, "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints",
    section 2.1, https://arxiv.org/abs/2305.13245. Differential attention, whose key heads are of two kinds, is not
    served: the mean would be of both.

    Args:
        wanted: shapes by path. What already fits, and what cannot be made to, is returned as it is.
    """

    def fit(path: str, leaf: Array) -> Array:
        shape = wanted.get(path, leaf.shape)
        if path.rpartition('/')[-1] not in _PER_KEY_HEAD or shape == leaf.shape or leaf.shape[-2] % shape[-2]:
            return leaf
        return reduce(leaf, '... (K G) H -> ... K H', 'mean', K=shape[-2])

    return each_leaf(params, fit)
