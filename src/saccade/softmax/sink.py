# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax with a learned sink: one trained logit per head in the normaliser, without a value.

    p[n, i, j] = exp(s[n, i, j]) / (exp(c[n]) + sum_k exp(s[n, i, k]))

OpenAI 2025, "gpt-oss-120b & gpt-oss-20b Model Card", on attention, https://arxiv.org/abs/2508.10925
A head can give its weight to the sink instead of a token (Xiao et al. 2023, "Efficient Streaming Language Models with
Attention Sinks", https://arxiv.org/abs/2309.17453). Rows sum to less than one. The standard deviation of the initial c
is from the model in transformers. Cost: that of softmax, N parameters.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.softmax import SoftmaxWeights
from saccade.types import Part, Rows

__all__ = ['LearnedSink']


class LearnedSink(Module):
    """Softmax with a learned sink.

    Attributes: sink_init, the initialiser of the logits.
    """

    sink_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    rows: ClassVar[Rows] = Rows(least=0.0)
    online: ClassVar[type[SoftmaxWeights]] = SoftmaxWeights
    sink: ClassVar[bool] = True
    why_not: ClassVar[dict[str, str]] = {'BareSoftmaxVariant': 'it has a sink'}

    @nn.compact
    def __call__(self, heads: int) -> SoftmaxWeights:
        return SoftmaxWeights(parameter(self, 'sink', 'N', self.sink_init(), (heads,), dtype=jnp.float32))
