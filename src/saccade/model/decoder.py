# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Decoder-only language model: embed, add positions, mix L times, project to the vocabulary.

    x = E[tokens] + positions;  x = block_l(x), l = 1..L;  logits = norm(x) E^T   (or norm(x) W)

Radford et al. 2019, "Language Models are Unsupervised Multitask Learners" (GPT-2). The same class is Llama
(Touvron et al. 2023, https://arxiv.org/abs/2302.13971) by its parts alone. What may be seen is the mixer's mask's
affair. Tied weights: Press, Wolf 2017, https://arxiv.org/abs/1608.05859
"""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.model.stack import Stack
from saccade.ops.project import project
from saccade.types import (
    Block,
    Hidden,
    Logits,
    Norm,
    PairPosition,
    Part,
    Runner,
    Scope,
    ScoreTerm,
    State,
    TokenPosition,
    Tokens,
    UserError,
    require_causal,
    require_positive,
    require_share,
)


@struct.dataclass
class DecoderState:
    """Attributes: the state of each layer, and the position of each row's next token."""

    layers: tuple[State, ...]
    position: Int[Array, 'B']


class Decoder(nn.Module):
    """A causal language model, if its mixers' masks are causal.

    Attributes:
        vocabulary: V, at least the tokenizer's size.
        context: the longest sequence, in tokens.
        width: D.
        layers: L.
        block: one block, or a pattern of blocks that is repeated.
        position: what is done to the embedded tokens.
        norm: before the projection to the vocabulary.
        run: how the layers are run.
        tied: whether the output projection is the embedding, transposed.
        embedding_scale: factor of the embedded tokens; sqrt(D) in Vaswani et al. 2017, section 3.4, and in Gemma.
        embedding_norm: of the embedded tokens, before the positions (BLOOM); None for none.
        logit_scale: factor of the logits, before the cap; 1 / m in muP (`train.mup`).
        logit_cap: keeps logits within (-cap, cap), as cap tanh(logits / cap) (Gemma 2, section 2); None for no bound.
        shared: makes score terms once that all layers add to their own, as T5's table; its rotations are not used.
        dropout: of the embedded tokens.
        embedding_init: of the embedding; head_init: of an untied output projection.
    """

    vocabulary: int
    context: int
    width: int
    layers: int
    block: Part[Block] | tuple[Part[Block], ...]
    position: Part[TokenPosition]
    norm: Part[Norm]
    run: Part[Runner]
    tied: bool
    embedding_scale: float = 1.0
    embedding_norm: Part[Norm] | None = None
    logit_scale: float = 1.0
    logit_cap: float | None = None
    shared: Part[PairPosition] | None = None
    dropout: float = 0.0
    embedding_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))
    head_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    def __call__(self, tokens: Tokens, scope: Scope, train: bool) -> Logits:
        require_positive('model.decoder:Decoder', vocabulary=self.vocabulary, width=self.width, layers=self.layers)
        require_share('model.decoder:Decoder', dropout=self.dropout)
        if tokens.shape[1] > self.context:
            raise UserError(f'a sequence of {tokens.shape[1]} tokens does not fit the context of {self.context}')
        return self._around(tokens, scope, train, lambda stack, x, scope: (stack(x, scope, train), None))[0]

    def init_state(self, tokens: Tokens, capacity: int) -> DecoderState:
        """State for `capacity` tokens a row, padding included, which the context does not bound."""
        B = tokens.shape[0]
        x = jnp.zeros((B, 1, self.width), self.get_variable('params', 'embedding').dtype)
        return DecoderState(self._stack(parent=None).init_state(x, capacity), jnp.zeros(B, jnp.int32))

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: DecoderState) -> tuple[Logits, DecoderState]:
        """Take a chunk of tokens; where `segments` is 0 the row has none, and its position does not advance."""
        count = jnp.cumsum(segments != 0, axis=-1)
        scope = Scope(state.position[:, None] + jnp.maximum(count - 1, 0), segments)
        logits, layers = self._around(tokens, scope, False, lambda stack, x, scope: stack.step(x, scope, state.layers))
        return logits, DecoderState(layers, state.position + count[:, -1])

    @nn.compact
    def _around(
        self,
        tokens: Tokens,
        scope: Scope,
        train: bool,
        through: Callable[[Stack, Hidden, Scope], tuple[Hidden, Any]],
    ) -> tuple[Logits, Any]:
        require_causal('model.decoder:Decoder', *self._blocks())
        embedding = self.param('embedding', self.embedding_init(), (self.vocabulary, self.width))
        # Widened before the lookup, whose gradient sums over every place where a token stands.
        x = self.embedding_scale * jnp.take(embedding.astype(jnp.float32), tokens, axis=0).astype(embedding.dtype)
        if self.embedding_norm is not None:
            x = self.embedding_norm(name='embedding_norm')(x)
        x = self.position(name='position')(x, scope.positions)
        x = nn.Dropout(self.dropout)(x, deterministic=not train)
        scope = scope.replace(terms=(*scope.terms, *self._shared()))
        x, state = through(self._stack(name='layers'), x, scope)
        x = self.norm(name='norm')(x)
        return self._logits(self.logit_scale * x, embedding), state

    def _logits(self, x: Hidden, embedding: Float[Array, 'V D']) -> Logits:
        if self.tied:
            logits = jnp.einsum('BTD,VD->BTV', x, embedding)
        else:
            logits = project(x, self.param('head', self.head_init(), (self.width, self.vocabulary)))
        return logits if self.logit_cap is None else self.logit_cap * jnp.tanh(logits / self.logit_cap)

    def _shared(self) -> tuple[ScoreTerm, ...]:
        """The score terms of all layers, for as many heads as each of them has."""
        if self.shared is None:
            return ()
        given = [dict(inner.arguments) for block in self._blocks() for inner in block.within()]
        heads = {arguments['heads'] for arguments in given if 'heads' in arguments}
        if len(heads) != 1:
            raise UserError(
                f'model.decoder:Decoder: shared needs layers of one number of heads, not of {sorted(heads)}'
            )
        terms = self.shared(name='shared').terms(*heads)
        if not terms:
            raise UserError(f'model.decoder:Decoder: shared takes score terms, and {self.shared.name} makes none')
        return terms

    def _blocks(self) -> tuple[Part[Block], ...]:
        return self.block if isinstance(self.block, tuple) else (self.block,)

    def _stack(self, **place: Any) -> Stack:
        return Stack(self.block, self.layers, self.run, **place)
