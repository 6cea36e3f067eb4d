# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Bahdanau decoder: the query of the attention is the previous decoder state s_{t-1}.

    c_i = attention(s_(i-1), h);   s_i = cell(s_(i-1), [y_(i-1) ; c_i]);   t_i = maxout([s_i ; y_(i-1) ; c_i] W)

Bahdanau et al. 2015, "Neural Machine Translation by Jointly Learning to Align and Translate", section 3.1 and appendix
A.2, https://arxiv.org/abs/1409.0473. With several layers the query is the last layer's state, and the context is an
input of the first layer. All t_i are computed at once, after the scan. Cost: that of the cell and the attention,
sequential.
"""

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.ops.project import project
from saccade.recurrent.decoder.base import AttentionDecoder, Decoded, Inputs, Writing, joined
from saccade.types import Count, LayerContext, PRNGKey

__all__ = ['Bahdanau']


class Bahdanau(AttentionDecoder):
    """Bahdanau decoder: the query is the state s_{t-1}. Attributes: the attributes of AttentionDecoder."""

    def setup(self) -> None:
        """Create the cells, the attention and the maxout readout."""
        super().setup()
        self.readout = Maxout(self.stack.cells[-1].width)

    def __call__(self, x: Inputs, layer_context: LayerContext, state: Writing, train: bool = False) -> Decoded:
        E, memory = x.shape[-1], state.source
        C = memory.values.shape[-1]
        steps, attender = self.stack.recurrences(E + C), self.attender(C)

        def write(
            decoder: Bahdanau, cells: tuple, u: Array, layer_context: LayerContext, key: PRNGKey | None
        ) -> tuple[tuple, tuple]:
            output = decoder.attend(attender, decoder.stack.hidden(cells)[:, None], layer_context, memory, key)
            u = u + steps[0].products(output.context[:, 0], first=E)
            cells = decoder.stack.one(steps, u, cells, key)
            return cells, (decoder.stack.hidden(cells), output)

        keys = self.keys(x.shape[1], train)
        cells, (hidden, output) = self.one_by_one(write, state.cells, steps[0].products(x), layer_context, keys)
        output = joined(output)
        weights = self.reported(output, memory.segments.shape[1])
        seen = jnp.concatenate([hidden.astype(x.dtype), x, output.context], axis=-1)
        return self.readout(seen), weights, state.replace(cells=cells)


class Maxout(nn.Module):
    """Maxout of feature pairs (Goodfellow et al. 2013, https://arxiv.org/abs/1302.4389). Attributes: width (D)."""

    width: Count

    @nn.compact
    def __call__(self, x: Float[Array, 'B T E']) -> Float[Array, 'B T D']:
        shape = (x.shape[-1], 2 * self.width)
        y = project(x, parameter(self, 'kernel', 'D -> F', nn.initializers.lecun_normal(), shape))
        return rearrange(y, 'B T (D pair) -> B T D pair', pair=2).max(axis=-1)
