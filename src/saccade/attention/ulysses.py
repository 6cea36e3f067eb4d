# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Ulysses attention: an all-to-all gives each device whole rows of fewer heads to attend over; another undoes it.

    [T/n, N] -> all-to-all -> [T, N/n],   y = kernel(q, k, v),   [T, N/n] -> all-to-all -> [T/n, N]

Jacobs et al. 2023, "DeepSpeed Ulysses: System Optimizations for Enabling Training of Extreme Long Sequence Transformer
Models", section 3, https://arxiv.org/abs/2309.14509
Ours says where heads and tokens lie before and after any kernel, blockwise or splash, and XLA makes the all-to-all.
Without a sequence axis it is that kernel. Cost on each of n devices: the kernel's, over n; (2 N + 2 K) T H (n-1) / n^2
numbers sent forward, and as many backward. Key heads must divide by the devices; `attention.ring` needs no such thing.
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

    Attributes: those of every score kernel; inner, the kernel that attends over whole rows.
    """

    softmax: Part[OnlineSoftmaxVariant] = Part(Softmax)
    inner: Part[ScoringKernel] = Part(Blockwise)

    capabilities: ClassVar[Capabilities] = Capabilities(time='B N T S', memory='B N T H', state='S K H')

    def require_served(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> None:
        """Check that the devices divide heads and tokens, and what the kernel within needs.

        Raises:
            UserError: they do not, or it has not what is asked of it.
        """
        require_own(NAME, self.inner)
        if (here := devices.current()) is not None and here.parts > 1:
            heads = here.by_heads().head_parts
            for count, words in ((q.shape[2], 'heads'), (k.shape[2], 'key heads'), (v.shape[2], 'value heads')):
                if count % heads:
                    raise UserError(
                        f'config.mesh.sequence: {heads} devices cannot share {count} {words} equally ({NAME}); '
                        f'attention.ring:Ring shares tokens alone'
                    )
            for length in (q.shape[1], k.shape[1]):
                if length % here.parts:
                    raise UserError(
                        f'config.mesh.sequence: {here.parts} devices cannot share {length} tokens equally ({NAME})'
                    )
        # Parameters are the same on all platforms, and their shapes are asked for where no TPU is.
        if self.scope is None or not self.is_initializing():
            with devices.by_heads():
                self._inner().require_served(q, k, v, scoring)

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Attend by the kernel, each device with whole rows of its heads."""
        sizes = q.shape[0], min(k.shape[2], v.shape[2])
        # Told only how heads lie, XLA would rather gather the tokens that these are projected from.
        q, k, v = (devices.laid(x, 'B T N H', *sizes) for x in (q, k, v))
        with devices.by_heads():
            q, k, v = (devices.laid(x, 'B T N H', *sizes) for x in (q, k, v))
            y = devices.laid(self._inner().attend(q, k, v, scoring), 'B T N H', *sizes)
        return devices.laid(y, 'B T N H', *sizes)

    def _inner(self) -> CachingKernel:
        return self.inner(parent=None)
