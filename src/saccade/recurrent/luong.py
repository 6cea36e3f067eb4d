# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Luong decoder: the state AFTER a token looks at the source, and what it sees is joined to it.

    s_i = cell(s_(i-1), y_(i-1));   c_i = attention(s_i, h);   t_i = tanh([c_i ; s_i] W)
    with input feeding     s_i = cell(s_(i-1), [y_(i-1) ; t_(i-1)])

Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation", equation 5 and section 3.3,
https://arxiv.org/abs/1508.04025. Without input feeding no look depends on an earlier one: layers are scans over whole
rows, and all states look at once. Cost: a cell's and the attention's; with feeding, one token after another.
"""

from collections.abc import Sequence

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.ops.project import project
from saccade.recurrent.attention_base import Looker
from saccade.recurrent.base import Recurrence
from saccade.recurrent.decoder_base import AttentionDecoder, Inputs, Writing, joined, one_by_one, segments_of
from saccade.recurrent.encoder import Encoded
from saccade.types import PRNGKey, Scope

Written = tuple[Float[Array, 'B T D'], Writing]


class Luong(AttentionDecoder, kw_only=True):
    """Attributes: those of AttentionDecoder; input_feeding, whether t enters the next step."""

    input_feeding: bool

    def setup(self) -> None:
        super().setup()
        self.joining = Joining(self.stack.cells[-1].width)

    def begin(self, encoded: Encoded, cells: tuple) -> Writing:
        state = super().begin(encoded, cells)
        batch, width = encoded.context.shape[0], self.stack.cells[-1].width
        return state.replace(fed=jnp.zeros((batch, width), encoded.hidden.dtype)) if self.input_feeding else state

    def __call__(self, x: Inputs, scope: Scope, state: Writing, train: bool) -> Written:
        C = state.source.values.shape[-1]
        fed = self.stack.cells[-1].width if self.input_feeding else 0
        steps, looker = self.stack.recurrences(x.shape[-1] + fed), self.looker(C)
        kernel = self.joining(C)
        write = self._fed if self.input_feeding else self._at_once
        return write(steps, looker, kernel, x, scope, state, train)

    def _at_once(
        self,
        steps: Sequence[Recurrence],
        looker: Looker,
        kernel: Array,
        x: Inputs,
        scope: Scope,
        state: Writing,
        train: bool,
    ) -> Written:
        u, segments = steps[0].products(x), segments_of(scope)
        hidden, cells = self.stack.whole(steps, u, segments, state.cells, train)
        key = self.make_rng('dropout') if train and self.has_rng('dropout') else None
        look = looker(hidden, scope, state.source, key)
        self.report(look, state.source.segments.shape[1])
        return attentional(look.context, hidden, kernel), state.replace(cells=cells)

    def _fed(
        self,
        steps: Sequence[Recurrence],
        looker: Looker,
        kernel: Array,
        x: Inputs,
        scope: Scope,
        state: Writing,
        train: bool,
    ) -> Written:
        def write(carry: tuple, u: Array, scope: Scope, key: PRNGKey | None) -> tuple[tuple, tuple]:
            cells, fed = carry
            cells = self.stack.one(steps, u + steps[0].products(fed, first=x.shape[-1]), cells, key)
            hidden = self.stack.hidden(cells)[:, None]
            look = looker(hidden, scope, state.source, key)
            fed = attentional(look.context, hidden, kernel)[:, 0]
            return (cells, fed), (fed, look)

        keys = self.keys(x.shape[1], train)
        (cells, fed), (y, look) = one_by_one(write, (state.cells, state.fed), steps[0].products(x), scope, keys)
        self.report(joined(look), state.source.segments.shape[1])
        return y, state.replace(cells=cells, fed=fed)


class Joining(nn.Module):
    """The weights that join a state to what it has seen. Attributes: width, of both the state and what is made."""

    width: int

    @nn.compact
    def __call__(self, context_width: int) -> Float[Array, 'E D']:
        return self.param('kernel', nn.initializers.lecun_normal(), (context_width + self.width, self.width))


def attentional(
    context: Float[Array, 'B T C'], hidden: Float[Array, 'B T D'], kernel: Float[Array, 'E D']
) -> Float[Array, 'B T D']:
    """tanh([c ; s] W), the attentional state, in the dtype of what is read."""
    return jnp.tanh(project(jnp.concatenate([context, hidden.astype(context.dtype)], axis=-1), kernel))
