# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""nGPT's feed-forward layer: a gated layer with trained factors of the hidden features, times sqrt(D) for the gate.

    y = W2 (act(sqrt(D) s_v * (Wg x)) * (s_u * (W1 x)))        s_u, s_v [F]

Loshchilov, Hsieh, Sun, Ginsburg 2024, "nGPT: Normalized Transformer with Representation Learning on the Hypersphere",
section 2.4.2, https://arxiv.org/abs/2410.01131. Vectors of norm 1 have products of size 1 / sqrt(D), for which
activations are nearly linear; the factor sqrt(D) compensates. With s_v = 1 / sqrt(D) and s_u = 1 it is the gated layer.
Cost: that of the gated layer plus 2 T F.
"""

from jaxtyping import Array, Float

from saccade.feedforward.gated import Gated
from saccade.gain import Gain
from saccade.types import Hidden, Part

__all__ = ['RescaledGated']


class RescaledGated(Gated):
    """nGPT's gated feed-forward layer. Attributes: the attributes of Gated; gain, factors of the hidden features."""

    gain: Part[Gain] = Part(Gain, (('stored', 1.0),))

    def _linear(self, name: str, x: Hidden, F: int) -> Float[Array, 'B T F']:
        gain = self.gain()(self, f'{name}_gain', 'F', (F,), x.shape[-1])
        return super()._linear(name, x, F) * (gain * x.shape[-1] ** 0.5 if name == 'gate' else gain)
