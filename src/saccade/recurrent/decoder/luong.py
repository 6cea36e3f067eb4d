# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Luong decoder: the query of the attention is the current decoder state s_t, concatenated with the context.

    s_i = cell(s_(i-1), y_(i-1));   c_i = attention(s_i, h);   t_i = tanh([c_i ; s_i] W)
    with input feeding     s_i = cell(s_(i-1), [y_(i-1) ; t_(i-1)])

Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation", equation 5 and section 3.3,
https://arxiv.org/abs/1508.04025. Without input feeding no query depends on an earlier context: layers are scans over
whole rows, and all states attend at once. Cost: that of the cell and the attention; sequential with input feeding.
"""

from collections.abc import Callable

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.ops.project import project
from saccade.recurrent.decoder.attention_base import AttentionOutput
from saccade.recurrent.decoder.base import AttentionDecoder, Decoded, Inputs, Writing, joined
from saccade.recurrent.encoder import Encoded
from saccade.types import Count, LayerContext, PRNGKey

__all__ = ['Luong']

Written = tuple[Float[Array, 'B T D'], AttentionOutput, Writing]
Attend = Callable[
    ['Luong', Float[Array, 'B T D'], LayerContext, PRNGKey | None], tuple[Float[Array, 'B T D'], AttentionOutput]
]


class Luong(AttentionDecoder):
    """Luong decoder.

    Attributes: the attributes of AttentionDecoder; input_feeding, whether t_i is an input of the next step.
    """

    input_feeding: bool

    def setup(self) -> None:
        """Create the cells, the attention and the projection of context and state."""
        super().setup()
        self.joining = Joining(self.stack.cells[-1].width)

    def begin(self, encoded: Encoded, cells: tuple) -> Writing:
        """Encode the source for attention; with input feeding the first step's input is zeros."""
        state = super().begin(encoded, cells)
        batch, width = encoded.context.shape[0], self.stack.cells[-1].width
        return state.replace(fed=jnp.zeros((batch, width), encoded.hidden.dtype)) if self.input_feeding else state

    def __call__(self, x: Inputs, layer_context: LayerContext, state: Writing, train: bool = False) -> Decoded:
        memory = state.source
        attender, kernel = self.attender(memory.values.shape[-1]), self.joining(memory.values.shape[-1])

        def attend(
            decoder: Luong, hidden: Float[Array, 'B T D'], layer_context: LayerContext, key: PRNGKey | None
        ) -> tuple[Float[Array, 'B T D'], AttentionOutput]:
            output = decoder.attend(attender, hidden, layer_context, memory, key)
            both = jnp.concatenate([output.context, hidden.astype(output.context.dtype)], axis=-1)
            return decoder.tap('attentional_state', 'B T D', jnp.tanh(project(both, kernel))), output

        write = self._fed if self.input_feeding else self._at_once
        y, output, state = write(attend, x, layer_context, state, train)
        return y, self.reported(output, memory.segments.shape[1]), state

    def _at_once(self, attend: Attend, x: Inputs, layer_context: LayerContext, state: Writing, train: bool) -> Written:
        steps = self.stack.recurrences(x.shape[-1])
        hidden, cells = self.stack.whole(steps, steps[0].products(x), layer_context.numbered, state.cells, train)
        return *attend(self, hidden, layer_context, self.key(train)), state.replace(cells=cells)

    def _fed(self, attend: Attend, x: Inputs, layer_context: LayerContext, state: Writing, train: bool) -> Written:
        E = x.shape[-1]
        steps = self.stack.recurrences(E + state.fed.shape[-1])

        def write(
            decoder: Luong, carry: tuple, u: Array, layer_context: LayerContext, key: PRNGKey | None
        ) -> tuple[tuple, tuple]:
            cells, fed = carry
            cells = decoder.stack.one(steps, u + steps[0].products(fed, first=E), cells, key)
            y, output = attend(decoder, decoder.stack.hidden(cells)[:, None], layer_context, key)
            return (cells, y[:, 0]), (y[:, 0], output)

        u, keys = steps[0].products(x), self.keys(x.shape[1], train)
        (cells, fed), (y, output) = self.one_by_one(write, (state.cells, state.fed), u, layer_context, keys)
        return y, joined(output), state.replace(cells=cells, fed=fed)


class Joining(nn.Module):
    """Projection W of a state and its context. Attributes: width of the state and of the output (D)."""

    width: Count

    @nn.compact
    def __call__(self, context_width: int) -> Float[Array, 'E D']:
        shape = (context_width + self.width, self.width)
        return parameter(self, 'kernel', 'D -> D', nn.initializers.lecun_normal(), shape)
