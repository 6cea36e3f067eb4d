# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Automatic kernel selection: the first kernel of a list that supports the layer on the current platform.

    y = kernel_i(q, k, v),    i = the first that supports platform, mask, score terms, softmax and dropout

As in PyTorch's `scaled_dot_product_attention` (2023), https://pytorch.org/blog/accelerated-pytorch-2/
Ours selects during tracing, from a list in the config; the plan of a run shows the kernel of each layer, and the
reasons against the earlier ones. All kernels have the same parameters, so a model trained with one decodes with
another.
Cost: the selected kernel's. It cannot return weights.
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
    """Selected kernel. Attributes: path of the layer's kernel; name of the selected one; reasons against others."""

    path: str
    name: str
    reasons: tuple[str, ...]


_choices: ContextVar[list[Choice] | None] = ContextVar('choices', default=None)


class Auto(ScoreKernel):
    """Attention kernel selected from a list.

    Attributes: the attributes of ScoreKernel; kernels, in order of preference.
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
        """Attend with the first kernel that supports the scoring.

        Raises:
            UserError: no kernel supports it, or a kernel has its own softmax or dropout.
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
            # Parameter shapes are evaluated in float32 for every dtype of the run.
            if (choices := _choices.get()) is not None and not self.is_initializing():
                choices.append(Choice('/'.join(self.path), part.name, tuple(reasons)))
            return kernel.attend(q, k, v, scoring)
        raise UserError(f'attention.auto:Auto: none of its kernels supports this layer: {"; ".join(reasons)}')


@contextmanager
def choices() -> Iterator[list[Choice]]:
    """Collect the selections made while programs are traced."""
    made: list[Choice] = []
    token = _choices.set(made)
    try:
        yield made
    finally:
        _choices.reset(token)
