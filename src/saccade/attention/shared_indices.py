# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Shared indices (IndexCache, IndexShare): layers attend to the keys that the indexer of an earlier layer has chosen.

    y_i = attend(q_i, K_J, V_J),    J = keys chosen by the latest layer with an indexer; K, V are of each layer
    loss: the sum over the layers l that use one indexer of KL( p_l || softmax_j I_j )

Bai et al. 2026, "IndexCache: Accelerating Sparse Attention via Cross-Layer Index Reuse",
https://arxiv.org/abs/2603.12201. Its loss compares I with the mean of p over these layers, whose gradient is ours
divided by their number. Megatron-LM trains GLM-5.2's by their own layer: `loss` 0 where `reuse` is True. A model is
a pattern of layers, such as one with `reuse` False and three with True, under the same mask. Cost: as
`attention.lightning_indexer`, but a layer with `reuse` has no choice, and no parameters or cache of an indexer.
"""

from typing import Any, ClassVar

import jax.numpy as jnp

from saccade.attention.cache import Cache
from saccade.attention.lightning_indexer import Choice, IndexedCache, LightningIndexer
from saccade.layer_paths import hand_on
from saccade.ops.scoring import Scoring
from saccade.types import Hidden, LayerContext, Part, SparseKernel, UserError

__all__ = ['SharedIndices']

_INDICES = 'indices'


class SharedIndices(LightningIndexer):
    """Multi-head attention to keys chosen by its own lightning indexer, for later layers too, or by an earlier one.

    Also called: IndexCache, IndexShare, cross-layer index reuse.

    Attributes: as in LightningIndexer; reuse, attend to the keys that an earlier layer has chosen.
    """

    reuse: bool

    ascending: ClassVar[bool] = True
    hands_on: ClassVar[tuple[str, ...]] = (_INDICES,)
    example: ClassVar[dict[str, Any]] = LightningIndexer.example | {'reuse': False}

    def choose(
        self, kernel: SparseKernel, x: Hidden, scoring: Scoring, context: LayerContext, state: IndexedCache
    ) -> tuple[Choice, IndexedCache]:
        """Choose keys as in LightningIndexer and pass the choice on, or return the choice of an earlier layer.

        Raises:
            UserError: no earlier layer has chosen keys, or it did under another mask.
        """
        name = Part(type(self)).name
        if not self.reuse:
            choice, state = super().choose(kernel, x, scoring, context, state)
            losses = self.is_mutable_collection('losses')
            hand_on(self, _INDICES, choice if losses else choice.replace(fit=None))
            return choice, state
        if _INDICES not in context.handed:
            if self.is_initializing():  # each layer by itself
                return Choice(jnp.zeros((x.shape[0], 1, x.shape[1], 1), int), None, self.mask), state
            raise UserError(f'{name}: no earlier layer has chosen keys for reuse=True; the first needs reuse=False')
        _, choice = context.handed[_INDICES]
        if choice.mask != self.mask:
            raise UserError(f'{name}: keys chosen under {choice.mask.name} cannot be reused under {self.mask.name}')
        return choice, state

    def init_state(self, x: Hidden, capacity: int) -> IndexedCache:
        """Return the empty state of LightningIndexer, without an indexer's cache if the layer has none."""
        if self.reuse:
            return IndexedCache(Cache.empty(*self.empty_kv(x), capacity), None)
        return super().init_state(x, capacity)
