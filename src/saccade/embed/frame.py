# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Frame embedding: a linear map of each frame, a vector of F numbers such as the bands of a spectrogram.

    x_t = frame_t W + b

Dong et al. 2018, "Speech-Transformer: A No-Recurrence Sequence-to-Sequence Model for Speech Recognition", section 3.1,
https://doi.org/10.1109/ICASSP.2018.8462506. It can embed any sequence of vectors. Cost: T F E.
"""

from typing import ClassVar

import flax.linen as nn
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.project import project
from saccade.types import LayerContext, Part, Table, UserError

__all__ = ['FrameEmbedding']


class FrameEmbedding(Module):
    """Frame embedding. Attributes: kernel_init, the initialiser of W [F E]; b [E] is initialised to 0."""

    kernel_init: Part = Part(nn.initializers.lecun_normal)

    reads: ClassVar[str] = 'frames'

    @nn.compact
    def __call__(
        self, inputs: Array, context: LayerContext, width: int, table: Table | None
    ) -> tuple[Float[Array, 'B T E'], LayerContext]:
        if inputs.ndim != 3:
            raise UserError(f'embed.frame:FrameEmbedding: frames have axes [B T F], not the shape {inputs.shape}')
        kernel = parameter(self, 'kernel', 'X -> D', self.kernel_init(), (inputs.shape[-1], width))
        bias = parameter(self, 'bias', 'D', nn.initializers.zeros, (width,))
        return project(inputs.astype(kernel.dtype), kernel) + bias, context
