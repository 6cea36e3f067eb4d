# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Centred convolution over M tokens around each token, for encoders.

    y_t = b + sum over m = 0 .. M-1 of x_(t+h-m) W_m,    h = floor(M / 2)

The encoder of Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", https://arxiv.org/abs/1705.03122.
Causal use and decoding are not supported. Cost: M D^2 per token, or M D if it is depthwise.
"""

from typing import Any, ClassVar, NoReturn

from saccade.recurrent.mixer.convolution import Convolution
from saccade.recurrent.mixer.recurrent import own_segments
from saccade.types import Capabilities, Hidden, LayerContext, State, UserError

__all__ = ['CentredConvolution']


class CentredConvolution(Convolution):
    """Centred convolution over tokens, for encoders.

    Attributes: the attributes of Convolution.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        causal=False, cross=False, terms=False, cached=False, equivariant=False, time='B T M D^2', memory='B T D'
    )
    sees_others: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {'size': 17, 'depthwise': True}  # covers the rows of the tests

    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, None]:
        """Convolve whole sequences; there is no state."""
        ahead = self.size // 2
        return self.convolve(x, own_segments(self, context), (self.size - 1 - ahead, ahead), train), None

    def init_state(self, x: Hidden, capacity: int) -> NoReturn:
        """Raise an error: decoding is not supported.

        Raises:
            UserError: always; a token depends on later tokens.
        """
        raise UserError('recurrent.mixer.centred_convolution:CentredConvolution cannot decode: it looks ahead')
