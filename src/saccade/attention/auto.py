# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Automatic choice of the kernel: the first of a list that has what is asked of it, on the platform at hand.

    y = kernel_i(q, k, v),    i = the first whose platform, mask, score terms, softmax and dropout are these

As PyTorch's `scaled_dot_product_attention` does (2023), https://pytorch.org/blog/accelerated-pytorch-2/
Ours chooses while tracing, from a list that the config gives; the plan of a run says which kernel each layer got, and
why none of those before it. All have the same parameters, so that a model trained with one decodes with another. Cost:
the chosen kernel's. It cannot return weights.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ClassVar

from saccade.attention.base import CachingKernel, ScoreKernel, require_own
from saccade.attention.blockwise import Blockwise
from saccade.attention.cudnn import CuDNN
from saccade.attention.ring import Ring
from saccade.attention.splash import Splash
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

__all__ = ['Auto']


@dataclass(frozen=True)
class Choice:
    """Choice of a kernel. Attributes: path of the layer's kernel; name of the one taken; why none before it was."""

    path: str
    name: str
    reasons: tuple[str, ...]


_choices: ContextVar[list[Choice] | None] = ContextVar('choices', default=None)


class Auto(ScoreKernel):
    """Attention kernel chosen from a list.

    Attributes: those of every score kernel; kernels, the first of which that can serve a layer is taken.
    """

    softmax: Part[OnlineSoftmaxVariant] = Part(Softmax)
    kernels: tuple[Part[ScoringKernel], ...] = (
        Part(Splash),
        Part(CuDNN),
        Part(Ring, (('alone', False),)),
        Part(Blockwise),
    )

    capabilities: ClassVar[Capabilities] = Capabilities(time='B N T S', memory='B N T H', state='S K H')

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Attend by the first kernel that can serve the scoring.

        Raises:
            UserError: none can, or one has fields that are Auto's own.
        """
        reasons = []
        for part in self.kernels:
            require_own('attention.auto:Auto', part)
            kernel: CachingKernel = part(parent=None)
            try:
                kernel.require_served(q, k, v, scoring)
            except UserError as error:
                reasons.append(str(error))
                continue
            # Shapes of parameters are asked for in float32, whatever the run is in.
            if (choices := _choices.get()) is not None and not self.is_initializing():
                choices.append(Choice('/'.join(self.path), part.name, tuple(reasons)))
            return kernel.attend(q, k, v, scoring)
        raise UserError(f'attention.auto:Auto: none of its kernels can serve this layer: {"; ".join(reasons)}')


@contextmanager
def choices() -> Iterator[list[Choice]]:
    """Collect the choices that are made while programs are traced."""
    made: list[Choice] = []
    token = _choices.set(made)
    try:
        yield made
    finally:
        _choices.reset(token)
