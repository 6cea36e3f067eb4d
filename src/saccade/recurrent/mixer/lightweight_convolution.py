# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Lightweight convolution: a causal depthwise convolution whose taps sum to 1 and are shared by the features of a head.

    u_t = (x_t Wv) * sigmoid(x_t Wg);   z_t = sum over m = 0 .. M-1 of softmax(w_n)_m u_(t-M+1+m);   y_t = z_t Wo

Wu et al. 2019, "Pay Less Attention with Lightweight and Dynamic Convolutions", sections 3 and 4,
https://arxiv.org/abs/1901.10430. The D / N features of head n are neighbours. As in the authors' code (fairseq) taps on
the padding before a sequence keep their share; its projections also have biases. Causal only. Cost: 3 D^2 + M D per
token; decoding state M D.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.axes import parameter
from saccade.ops.convolution import convolve
from saccade.ops.project import project, width_of_heads
from saccade.recurrent.mixer.newest_base import ReadsNewest
from saccade.types import Capabilities, Count, Hidden, Part, Share

__all__ = ['LightweightConvolution']


class LightweightConvolution(ReadsNewest):
    """Lightweight convolution.

    Attributes:
        size: M, in tokens.
        heads: number of heads (N).
        tap_dropout: dropout rate of the normalised taps (DropConnect).
        dropout: dropout rate of the output.
        kernel_init: initialiser of Wv and Wg.
        taps_init: initialiser of w.
        output_init: initialiser of Wo.
    """

    heads: Count
    tap_dropout: Share = 0.0
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    taps_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False, cross=False, terms=False, equivariant=False, time='B T D^2', memory='B T D', state='M D'
    )
    example: ClassVar[dict[str, Any]] = {'size': 9}  # covers the rows of the tests

    @nn.compact
    def convolve(self, x: Hidden, segments: Int[Array, 'B T'], ends: tuple[int, int], train: bool) -> Hidden:
        """Return the convolution at each token.

        Raises:
            UserError: the heads do not divide the width.
        """
        D = x.shape[-1]
        R = width_of_heads(D, self.heads, None)
        value, gate = (project(x, self.square(name, self.kernel_init, D)) for name in ('value', 'gate'))
        u = value * jax.nn.sigmoid(gate)
        taps = jax.nn.softmax(self.taps(u).astype(jnp.float32), axis=0).astype(x.dtype)
        taps = nn.Dropout(self.tap_dropout)(taps, deterministic=not train)
        padded, of = jnp.pad(u, ((0, 0), ends, (0, 0))), jnp.pad(segments, ((0, 0), ends))
        z = convolve(padded, of, jnp.repeat(taps, R, axis=-1), ends[0])
        y = project(z, self.square('output', self.output_init, D))
        return nn.Dropout(self.dropout)(y, deterministic=not train)

    def taps(self, u: Hidden) -> Float[Array, 'M *BT N']:
        """Return the taps before their softmax. Called in a compact method."""
        return parameter(self, 'taps', 'X N', self.taps_init(), (self.size, self.heads), decays=True)

    def square(self, name: str, init: Part, D: int) -> Float[Array, 'D D']:
        """Make a [D D] projection. Called in a compact method."""
        return parameter(self, name, 'D -> D', init(), (D, D))
