# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Linformer: keys and values are projected along the sequence to a fixed number of slots.

    Y = softmax(scale Q (E^T K)^T) F^T V          E, F [S_max M], M slots, the same for all heads

Wang et al. 2020, "Linformer: Self-Attention with Linear Complexity", equation 7, https://arxiv.org/abs/2006.04768
E and F are trained, with the paper's "headwise sharing"; a shorter sequence uses their first S rows. Every slot mixes
all tokens, so it cannot be causal, decode, or separate padding and packed documents: it supports `ops.mask:Full`
and rows of one segment, and no score terms. Cost: B N (T + S) M H in time, B N T M in memory, 2 S_max M parameters.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array

from saccade.attention.base import NoSteps, ScoreKernel
from saccade.axes import parameter
from saccade.ops.reach import reach_of
from saccade.ops.scoring import Scoring
from saccade.types import (
    Capabilities,
    Count,
    Keys,
    Mixed,
    Part,
    Queries,
    UserError,
    Values,
)

__all__ = ['Linformer']


class Linformer(NoSteps, ScoreKernel):
    """Linformer kernel.

    Attributes: the attributes of ScoreKernel; length (S_max) in tokens; number of slots (M); projection_init of E and
        F.
    """

    length: Count
    slots: Count
    projection_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(
        causal=False,
        packed=False,
        terms=False,
        cached=False,
        equivariant=False,
        time='B N (T + S) M H',
        memory='B N T M',
    )
    example: ClassVar[dict] = {'slots': 6}

    @nn.compact
    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Scoring, train: bool = False) -> Mixed:
        reach_of(self, scoring, q, k)
        if k.shape[1] > self.length:
            raise UserError(f'attention.linformer:Linformer: {k.shape[1]} keys exceed the length of {self.length}')
        k, v = self._slots('key_slots', k), self._slots('value_slots', v)
        # No pattern is shown: a slot is no token.
        return self.complete(scoring, q.shape[-2], train).replace(tap=None).attend(q, k, v)[0]

    def _slots(self, name: str, x: Keys) -> Array:
        kernel = parameter(self, name, 'S -> X', self.projection_init(), (self.length, self.slots))
        return jnp.einsum('BSKH,SM->BMKH', x, kernel[: x.shape[1]])
