# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Decoder with heads for later tokens (multi-token prediction), which are used in training only.

    head k predicts token t + 1 + k from norm(h^k_t), k = 1..n, with the decoder's output projection
    parallel:    h^k = block_k(input of the decoder's last layer)
    sequential:  h^k = block_k(M_k [norm(h^(k-1)_t); norm(E token_(t+k))]),   h^0: output of the last layer

Gloeckle et al. 2024, "Better & Faster Large Language Models via Multi-token Prediction", section 2,
https://arxiv.org/abs/2404.19737 (parallel; they share one final norm, here each head has its own), and DeepSeek-AI
2024, "DeepSeek-V3 Technical Report", section 2.2, https://arxiv.org/abs/2412.19437 (sequential: each head knows the
tokens before its target). Train it with `task.multi_token:MultiTokenPrediction`. Generation does not use the heads.
Cost: one block and one output projection per head, in training.
"""

from typing import Annotated, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array

from saccade.axes import parameter
from saccade.model.decoder import Decoder
from saccade.model.stack import Stack
from saccade.module import Module, context_of, on_device
from saccade.ops.causality import require_causal
from saccade.ops.project import project
from saccade.ops.vocabulary import OutputProjection
from saccade.types import ArrayLike, Block, Hidden, LayerContext, Logits, Norm, Part, Range, Table, Tokens

__all__ = ['MultiTokenDecoder', 'ParallelHeads', 'SequentialHeads']

MOST = 7  # heads


class HeadsAhead(Module):
    """Base of the heads for later tokens.

    Attributes:
        count: number of heads (n).
        block: block of each head; None for the decoder's last.
        norm: norm of each head; None for the decoder's.
        branches: True if the heads read the input of the decoder's last layer, False if they read its output.
    """

    branches: ClassVar[bool]

    count: Annotated[int, Range(least=1, most=MOST)] = 1
    block: Part[Block] | None = None
    norm: Part[Norm] | None = None

    def head(self, number: int, x: Hidden, context: LayerContext, train: bool) -> Hidden:
        """Run the block of a head."""
        require_causal('model.multi_token:MultiTokenDecoder', self.block)
        return Stack(block=self.block, layers=1, name=f'head_{number}').mix(x, context, train, None)[0]

    def normed(self, name: str, x: Hidden, context: LayerContext) -> Hidden:
        """Return x after a norm of its own."""
        return self.norm(name=name)(x, context.real)


class ParallelHeads(HeadsAhead):
    """Parallel heads: each is another last layer of the decoder. Attributes: as in `HeadsAhead`."""

    branches: ClassVar[bool] = True

    @nn.compact
    def __call__(self, x: Hidden, embedded: Hidden, context: LayerContext, train: bool) -> list[Hidden]:
        """Return the hidden states of each head, for the output projection. Args: x, the input of the last layer."""
        numbers = range(1, self.count + 1)
        return [self.normed(f'norm_{k}', self.head(k, x, context, train), context) for k in numbers]


class SequentialHeads(HeadsAhead):
    """Sequential heads: each reads the hidden states of the head before it, and the next token.

    Attributes: as in `HeadsAhead`, and
        kernel_init: initialiser of the projections M.
    """

    branches: ClassVar[bool] = False

    kernel_init: Part = Part(nn.initializers.lecun_normal)

    @nn.compact
    def __call__(self, x: Hidden, embedded: Hidden, context: LayerContext, train: bool) -> list[Hidden]:
        """Return the hidden states of each head, for the output projection."""
        found = []
        for k in range(1, self.count + 1):
            own = _with_later(context, k)
            known = self.normed(f'hidden_norm_{k}', x, own), self.normed(f'token_norm_{k}', _ahead(embedded, k), own)
            both = jnp.concatenate(known, axis=-1)
            kernel = parameter(self, f'join_{k}', 'D -> D', self.kernel_init(), (both.shape[-1], x.shape[-1]))
            x = self.head(k, project(both, kernel), own, train)
            found.append(self.normed(f'norm_{k}', x, own))
        return found


class MultiTokenDecoder(Decoder):
    """Decoder with heads for later tokens.

    Attributes: as in `model.decoder:Decoder`, and
        ahead: the heads, as `model.multi_token:SequentialHeads`; their parameters are in `ahead`.
        exported_as: class of the exported model, and the field that is not exported.
    """

    ahead: Part[HeadsAhead]

    exported_as: ClassVar[tuple[type, str]] = (Decoder, 'ahead')

    def __call__(
        self, tokens: ArrayLike, context: LayerContext | None = None, train: bool = False, table: Table | None = None
    ) -> Logits:
        """Return the logits of the next tokens, as a decoder without the heads does."""
        if self.is_initializing():
            tokens = on_device(tokens)
            context = context_of(self, tokens, context)
            return self.projection_ahead(tokens, context, train, table).logits()[:, : tokens.shape[1]]
        return super().__call__(tokens, context, train, table)

    @nn.compact
    def projection_ahead(
        self, tokens: Tokens, context: LayerContext, train: bool, table: Table | None = None
    ) -> OutputProjection:
        """Return the hidden states of the decoder, then of each head, [B (1 + n) T D], with their projection."""
        x, context, table = self._inputs(tokens, context, train, table)
        embedded, context = self._entering(x, context)
        own = {'block': self.ahead['block'] or self.blocks[-1], 'norm': self.ahead['norm'] or self.norm}
        heads, layers = self.ahead.replace(**own)(name='ahead'), self._stack(name='layers')
        if heads.branches:
            read, x = layers.branch(embedded, context, train)
        else:
            read = x = layers.mix(embedded, context, train, None)[0]
        later = heads(read, embedded, context, train)
        hidden = jnp.concatenate([self._normed(x, context), *later], axis=1)
        return self._projection(self.logit_scale * hidden, table)


def _with_later(context: LayerContext, distance: int) -> LayerContext:
    """Return a context in which a token is padding if the token `distance` places later is not of its segment."""
    if context.segments is None:
        return context
    last = jnp.arange(context.segments.shape[1]) >= context.segments.shape[1] - distance
    ended = last | (context.segments != _ahead(context.segments, distance))
    return context.replace(segments=jnp.where(ended, 0, context.segments))


def _ahead(x: Array, distance: int) -> Array:
    """Return the entries `distance` places later in the row; the last places get the first entries of the row."""
    return jnp.roll(x, -distance, axis=1)
