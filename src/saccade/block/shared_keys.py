# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cross-layer attention: M layers, of which the first alone makes keys and values, and all attend to these.

    q_i = norm(x_i) Wq_i;   k, v = norm(x_1) (Wk, Wv);   h_i = x_i + attend(q_i, k, v) Wo_i,   i = 1 .. M

Brandon et al. 2024, "Reducing Transformer Key-Value Cache Size with Cross-Layer Attention",
https://arxiv.org/abs/2405.12981, where M is the sharing factor, as 2 in CLA2. Each of them is a pre-norm layer with
norms, queries, score terms and a feed-forward layer of its own, and M = 1 is `block.pre_norm`. L layers are L / M such
blocks; other blocks may stand between them in a pattern. Cost: that of M pre-norm blocks less M - 1 pairs of
projections; the state to decode with is one mixer's. Its mixer must have keys to lend: multi-head attention, with any
kernel, or what is made of it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import flax.linen as nn
from jaxtyping import PyTree

from saccade.block.pre_norm import PreNorm
from saccade.types import Count, Hidden, Lender, Part, Real, Scope, State, UserError, require_positive


class SharedKeys(PreNorm, kw_only=True):
    """Attributes: those of PreNorm; sharing, M."""

    mixer: Part[Lender]
    sharing: Count

    example: ClassVar[dict[str, Any]] = {'sharing': 2}

    def __call__(self, x: Hidden, scope: Scope, train: bool) -> Hidden:
        def mix(mixer: Lender, h: Hidden, lent: PyTree) -> tuple[Hidden, tuple[None, PyTree]]:
            y, lent = mixer.share(h, scope, train, lent)
            return y, (None, lent)

        return self.wire(x, train, scope.real, mix)[0]

    def step(self, x: Hidden, scope: Scope, state: State) -> tuple[Hidden, State]:
        def mix(mixer: Lender, h: Hidden, lent: PyTree) -> tuple[Hidden, tuple[State, PyTree]]:
            y, after, lent = mixer.share_step(h, scope, state, lent)
            return y, (after, lent)

        return self.wire(x, False, scope.real, mix)

    @nn.compact
    def wire(
        self, x: Hidden, train: bool, real: Real | None, mix: Callable[..., tuple[Hidden, Any]]
    ) -> tuple[Hidden, Any]:
        """Go through the layers; `mix` is told what is lent, None to the first, and returns it beside the state."""
        require_positive('block.shared_keys:SharedKeys', sharing=self.sharing)
        if self.cross is not None:
            raise UserError('block.shared_keys:SharedKeys reads no source: it cannot have cross')
        x, (state, lent) = super().wire(x, train, real, partial(mix, lent=None))
        for number in range(2, self.sharing + 1):
            layer = PreNorm(self.mixer, self.feedforward, self.norm, self.branch_scale, name=f'layer_{number}')
            x, _ = layer.wire(x, train, real, partial(mix, lent=lent))
        return x, state
