# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamic convolution: a lightweight convolution whose taps are predicted from each token.

    u_t = (x_t Wv) * sigmoid(x_t Wg);   z_t = sum over m = 0 .. M-1 of softmax(u_t Q_n)_m u_(t-M+1+m);   y_t = z_t Wo

Wu et al. 2019, "Pay Less Attention with Lightweight and Dynamic Convolutions", section 5,
https://arxiv.org/abs/1901.10430, Q [D M N]. The taps depend on the current token only, so the cost is linear in the
length, unlike attention. As in the authors' code (fairseq) taps on the padding before a sequence keep their share, and
Q has no bias; its projections have biases. Causal only. Cost: 3 D^2 + D M N + M D per token; decoding state M D.
"""

from jaxtyping import Array, Float

from saccade.axes import flat, parameter
from saccade.ops.project import project
from saccade.recurrent.mixer.lightweight_convolution import LightweightConvolution
from saccade.types import Hidden

__all__ = ['DynamicConvolution']


class DynamicConvolution(LightweightConvolution):
    """Dynamic convolution. Attributes: the attributes of LightweightConvolution, where taps_init initialises Q."""

    def taps(self, u: Hidden) -> Float[Array, 'M B T N']:
        """Return the taps of each token before their softmax. Called in a compact method."""
        shape = (u.shape[-1], self.size, self.heads)
        taps = project(u, parameter(self, 'taps', 'D -> X N', flat(self.taps_init, 1), shape))
        return taps.transpose(2, 0, 1, 3)
