# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cross-layer attention (CLA): M layers share the keys and values of the first.

    q_i = norm(x_i) Wq_i;   k, v = norm(x_1) (Wk, Wv);   h_i = x_i + attend(q_i, k, v) Wo_i,   i = 1 .. M

Brandon et al. 2024, "Reducing Transformer Key-Value Cache Size with Cross-Layer Attention",
https://arxiv.org/abs/2405.12981, where M is the sharing factor: 2 in CLA2. Each layer is a pre-norm layer with
norms, queries, score terms and a feed-forward layer of its own; M = 1 is `block.pre_norm`. A model of L layers has
L / M of these blocks; a pattern can contain other blocks between them. One of them after L / 2 layers with a window
is the cross-decoder of YOCO (Sun et al. 2024, https://arxiv.org/abs/2405.05254). Cost: M pre-norm blocks less M - 1
pairs of projections; the decoding state is that of one mixer. The mixer must support shared keys: multi-head
attention does, with any kernel.
"""

from typing import Any, ClassVar

import flax.linen as nn
from jaxtyping import PyTree

from saccade.block.pre_norm import PreNorm
from saccade.types import (
    SHARED_KV,
    Count,
    Hidden,
    KVSharingMixer,
    LayerContext,
    Part,
    State,
    UserError,
)

__all__ = ['SharedKeys']


class SharedKeys(PreNorm):
    """Cross-layer attention block.

    Attributes: the attributes of PreNorm; sharing, number of layers with the same keys and values (M).
    """

    mixer: Part[KVSharingMixer]
    sharing: Count

    example: ClassVar[dict[str, Any]] = {'sharing': 2}

    def run_mixer(
        self, x: Hidden, context: LayerContext, train: bool, state: State | None
    ) -> tuple[Hidden, tuple[State, PyTree]]:
        """Run the first mixer; return its output, and the new state with its keys and values."""
        y, state, shared = self.mixer(name='mixer').mix_sharing(x, context, train, state)
        return y, (state, shared)

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Run the M layers, which share the state, keys and values of the first.

        Raises:
            UserError: the block has `cross`.
        """
        if self.cross is not None:
            raise UserError('block.shared_keys:SharedKeys reads no source: it cannot have cross')
        x, (after, shared) = super().mix(x, context, train, state)
        context = context.replace(handed={**context.handed, SHARED_KV: shared})
        for number in range(2, self.sharing + 1):
            fields = ('mixer', 'feedforward', 'norm', 'norms', 'branch_scale')
            layer = PreNorm(**{name: getattr(self, name) for name in fields}, name=f'layer_{number}')
            x, _ = layer.mix(x, context, train, state)
        return x, after
