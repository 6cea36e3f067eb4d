# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixers side by side: the heads of one layer are split between mixers, such as attention and a state-space model.

    y = sum_i s_i norm_i(mixer_i(x))

Dong et al. 2024, "Hymba: A Hybrid-head Architecture for Small Language Models", section 2.1,
https://arxiv.org/abs/2411.13676: the mean of the normalised outputs, each norm with a trained scale per feature. Zuo et
al. 2025, "Falcon-H1", https://arxiv.org/abs/2507.22448: no norm, and a multiplier s_i of each output. Tan et al. 2026,
"HydraHead", https://arxiv.org/abs/2606.20097, splits the heads between attention and linear attention. Hymba projects
the mean; here every mixer has its own output projection, before the norm. Hymba's trained first tokens are not part of
it. Costs and decoding states add up; those declared are of attention and a mixer with a fixed-size state.
"""

from typing import Any, ClassVar

import flax.linen as nn

from saccade.module import Layer
from saccade.norm.rms import RMSNorm
from saccade.types import Capabilities, Hidden, LayerContext, Mixer, Norm, Pages, Part, State, UserError, refuse_terms

__all__ = ['SideBySide']


class SideBySide(Layer):
    """Mixers side by side.

    Also called: hybrid-head, parallel hybrid, head-wise hybrid.

    Attributes:
        mixers: mixers of the layer, each with its own number of heads; `mixers_0`, `mixers_1` ... in parameter paths.
        norm: norm of each mixer's output; None for none.
        scales: factor of each output; None for their mean.
    """

    mixers: tuple[Part[Mixer], ...]
    norm: Part[Norm] | None = Part(RMSNorm)
    scales: tuple[float, ...] | None = None

    capabilities: ClassVar[Capabilities] = Capabilities(
        terms=False, time='B T^2 N H + B T N H V', memory='B T N H + B T N V', state='S K H + N H V'
    )
    example: ClassVar[dict[str, Any]] = {
        'mixers': [
            {'use': 'attention.multi_head:MultiHead', 'heads': 2, 'mask': {'use': 'ops.mask:Causal'}},
            {'use': 'attention.gated_linear:GatedLinear', 'heads': 2, 'chunk': 4},
        ]
    }

    @nn.compact
    def mix(
        self, x: Hidden, context: LayerContext, train: bool, state: tuple[State, ...] | None
    ) -> tuple[Hidden, tuple[State, ...]]:
        """Run every mixer on x; return the sum of their scaled outputs, and their states.

        Raises:
            UserError: the number of scales is not the number of mixers, or the model shares score terms among all
                layers, which mixers without scores would refuse; each mixer may have terms of its own.
        """
        refuse_terms(Part(type(self)).name, context.terms)
        count = len(self.mixers)
        scales = (1 / count,) * count if self.scales is None else self.scales
        if len(scales) != count:
            raise UserError(f'{Part(type(self)).name}: {len(scales)} scales for {count} mixers')
        y, after = 0.0, []
        for number, (mixer, scale) in enumerate(zip(self.mixers, scales, strict=True)):
            before = None if state is None else state[number]
            own, newest = mixer(name=f'mixers_{number}').mix(x, context, train, before)
            if self.norm is not None:
                own = self.norm(name=f'norm_{number}')(own, context.real)
            y, after = y + scale * own, [*after, newest]
        return y, tuple(after)

    def init_state(self, x: Hidden, capacity: int) -> tuple[State, ...]:
        """Return the initial state of each mixer."""
        return tuple(mixer(parent=None).init_state(x, capacity) for mixer in self.mixers)

    def init_pages(self, x: Hidden, pages: Pages) -> tuple[State, ...]:
        """Return the initial state of each mixer for decoding with a pool of pages."""
        return tuple(mixer(parent=None).init_pages(x, pages) for mixer in self.mixers)
