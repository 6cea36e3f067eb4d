# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cross-layer attention (CLA): M layers share the keys and values that the first of them makes.

    q_i = norm(x_i) Wq_i;   k, v = norm(x_1) (Wk, Wv);   h_i = x_i + attend(q_i, k, v) Wo_i,   i = 1 .. M

Brandon et al. 2024, "Reducing Transformer Key-Value Cache Size with Cross-Layer Attention",
https://arxiv.org/abs/2405.12981, where M is the sharing factor, as 2 in CLA2. Each of them is a pre-norm layer with
norms, queries, score terms and a feed-forward layer of its own, and M = 1 is `block.pre_norm`. L layers are L / M such
blocks; other blocks may stand between them in a pattern. One of them after L / 2 layers with a window is the
cross-decoder of YOCO (Sun et al. 2024, https://arxiv.org/abs/2405.05254). Cost: that of M pre-norm blocks less M - 1
pairs of projections; the state to decode with is one mixer's. Its mixer must share keys, as multi-head attention does,
with any kernel.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import flax.linen as nn
from jaxtyping import PyTree

from saccade.block.pre_norm import PreNorm
from saccade.types import Count, Hidden, KVSharingMixer, LayerContext, Part, Real, State, UserError, require_positive


class SharedKeys(PreNorm, kw_only=True):
    """Cross-layer attention block.

    Attributes: those of PreNorm; sharing, M.
    """

    mixer: Part[KVSharingMixer]
    sharing: Count

    example: ClassVar[dict[str, Any]] = {'sharing': 2}

    def __call__(self, x: Hidden, context: LayerContext, train: bool) -> Hidden:
        def mix(mixer: KVSharingMixer, h: Hidden, shared_kv: PyTree) -> tuple[Hidden, tuple[None, PyTree]]:
            y, shared_kv = mixer.share_kv(h, context, train, shared_kv)
            return y, (None, shared_kv)

        return self.wire(x, train, context.real, mix)[0]

    def step(self, x: Hidden, context: LayerContext, state: State) -> tuple[Hidden, State]:
        """Run a chunk of tokens through the M layers, which share one state; return the output and that state."""

        def mix(mixer: KVSharingMixer, h: Hidden, shared_kv: PyTree) -> tuple[Hidden, tuple[State, PyTree]]:
            y, after, shared_kv = mixer.share_kv_step(h, context, state, shared_kv)
            return y, (after, shared_kv)

        return self.wire(x, False, context.real, mix)

    @nn.compact
    def wire(
        self, x: Hidden, train: bool, real: Real | None, mix: Callable[..., tuple[Hidden, Any]]
    ) -> tuple[Hidden, Any]:
        """Run the M layers; `mix` gets the shared keys and values, None at first, and returns the state and them.

        Raises:
            UserError: `sharing` is below 1, or the block has `cross`.
        """
        require_positive('block.shared_keys:SharedKeys', sharing=self.sharing)
        if self.cross is not None:
            raise UserError('block.shared_keys:SharedKeys reads no source: it cannot have cross')
        x, (state, shared_kv) = super().wire(x, train, real, partial(mix, shared_kv=None))
        for number in range(2, self.sharing + 1):
            parts = self.mixer, self.feedforward, self.norm
            layer = PreNorm(*parts, self.branch_scale, norms=self.norms, name=f'layer_{number}')
            x, _ = layer.wire(x, train, real, partial(mix, shared_kv=shared_kv))
        return x, state
