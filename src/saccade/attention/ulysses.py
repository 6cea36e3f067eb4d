# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Ulysses attention: an all-to-all redistributes tokens so that each device has whole rows of fewer heads, and back.

    [T/n, N] -> all-to-all -> [T, N/n],   y = kernel(q, k, v),   [T, N/n] -> all-to-all -> [T/n, N]

Jacobs et al. 2023, "DeepSpeed Ulysses: System Optimizations for Enabling Training of Extreme Long Sequence Transformer
Models", section 3, https://arxiv.org/abs/2309.14509
Ours constrains the sharding of heads and tokens before and after any kernel, and XLA inserts the all-to-alls.
Without a sequence axis it is the inner kernel. Cost per device, for n devices: the kernel's over n;
(2 N + 2 K) T H (n-1) / n^2 numbers sent forward, and as many backward. The number of key heads must be divisible by the
devices, which `attention.ring` does not need.
"""

from typing import ClassVar

from saccade.attention.base import CachingKernel, ScoreKernel, require_own
from saccade.attention.blockwise import Blockwise
from saccade.ops import devices
from saccade.ops.scoring import Scoring
from saccade.softmax.softmax import Softmax
from saccade.types import (
    Capabilities,
    Keys,
    Mixed,
    OnlineSoftmaxVariant,
    Part,
    Queries,
    ScoringKernel,
    UserError,
    Values,
)

__all__ = ['Ulysses']

NAME = 'attention.ulysses:Ulysses'


class Ulysses(ScoreKernel):
    """Ulysses attention kernel.

    Attributes: the attributes of ScoreKernel; inner, the kernel over whole rows.
    """

    softmax: Part[OnlineSoftmaxVariant] = Part(Softmax)
    inner: Part[ScoringKernel] = Part(Blockwise)

    capabilities: ClassVar[Capabilities] = Capabilities(time='B N T S', memory='B N T H', state='S K H')

    def require_served(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> None:
        """Check that the devices divide heads and tokens, and the requirements of the inner kernel.

        Raises:
            UserError: the devices do not divide heads or tokens, or the inner kernel does not support the arguments.
        """
        require_own(NAME, self.inner)
        if (here := devices.current()) is not None and here.parts > 1:
            heads = here.by_heads().head_parts
            for count, words in ((q.shape[2], 'heads'), (k.shape[2], 'key heads'), (v.shape[2], 'value heads')):
                if count % heads:
                    raise UserError(
                        f'config.mesh.sequence: {heads} devices cannot share {count} {words} equally ({NAME}); '
                        f'attention.ring:Ring splits only tokens'
                    )
            for length in (q.shape[1], k.shape[1]):
                if length % here.parts:
                    raise UserError(
                        f'config.mesh.sequence: {here.parts} devices cannot share {length} tokens equally ({NAME})'
                    )
        # Parameters are the same on all platforms, and their shapes are also evaluated without a TPU.
        if self.scope is None or not self.is_initializing():
            with devices.by_heads():
                self._inner().require_served(q, k, v, scoring)

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Attend with the inner kernel; each device has whole rows of its heads."""
        sizes = q.shape[0], min(k.shape[2], v.shape[2])
        # With only the sharding of heads, XLA would gather the tokens before the projection instead.
        q, k, v = (devices.laid(x, 'B T N H', *sizes) for x in (q, k, v))
        with devices.by_heads():
            q, k, v = (devices.laid(x, 'B T N H', *sizes) for x in (q, k, v))
            features = {name: devices.laid(leaf, 'B S X', *sizes) for name, leaf in scoring.features.items()}
            scoring = scoring.replace(features=features)
            y = devices.laid(self._inner().attend(q, k, v, scoring), 'B T N H', *sizes)
        return devices.laid(y, 'B T N H', *sizes)

    def _inner(self) -> CachingKernel:
        return self.inner(parent=None)
