# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Prefix LM: one decoder over rows of a source and its target, in which the source is the prefix.

    row = source, tokens;   logits = decoder(row), at the tokens;   mask: j <= i, or j in the source

Liu et al. 2018, "Generating Wikipedia by Summarizing Long Sequences", section 4.2.3, https://arxiv.org/abs/1801.10198;
with a source that sees all of itself it is the prefix LM of Dong et al. 2019, "Unified Language Model Pre-training",
section 3, https://arxiv.org/abs/1905.03197, and of Raffel et al. 2020, figure 4, https://arxiv.org/abs/1910.10683. It
does so where its mixers' mask is `ops.mask:CausalAfterPrefix`; under `ops.mask:Causal` it is a plain language model of
the two. The tasks and searches of an encoder-decoder serve it too. Cost: a decoder's of S + T tokens.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.model.decoder import Decoder, DecoderState
from saccade.ops.padding import padding_last
from saccade.ops.vocabulary import OutputProjection
from saccade.types import Count, LayerContext, Logits, Part, Tokens, UserError

__all__ = ['PrefixDecoder']

_NAME = 'model.prefix_decoder:PrefixDecoder'


class PrefixDecoder(nn.Module):
    """Prefix LM.

    Attributes:
        decoder: of source and target in one row; its context is of both together.
        source_context_length: the longest source, in tokens.
    """

    decoder: Part[Decoder]
    source_context_length: Count

    why_not: ClassVar[dict[str, str]] = {
        'LanguageModel': 'it writes of a source that it is given: launch/translate.py has it do so',
    }

    @property
    def vocabulary(self) -> int:
        """V, which source and target share."""
        return self.decoder['vocabulary']

    @property
    def context_length(self) -> int:
        """The longest target, in tokens: the decoder's context less the source's."""
        return self.decoder['context_length'] - self.source_context_length

    def setup(self) -> None:
        """Make the decoder.

        Raises:
            UserError: the sources leave no room in its context.
        """
        if not 0 < self.source_context_length < self.decoder['context_length']:
            raise UserError(
                f'{_NAME}: source_context_length: {self.source_context_length} of the '
                f'{self.decoder["context_length"]} tokens of decoder.context_length leave nothing to write; '
                f'it must be at least 1 and less than these'
            )
        self.tower = self.decoder(name='decoder')

    def __call__(
        self,
        source: Int[Array, 'B S'],
        source_context: LayerContext,
        tokens: Tokens,
        context: LayerContext,
        train: bool,
    ) -> Logits:
        return self.output_projection(source, source_context, tokens, context, train).logits()

    def output_projection(
        self,
        source: Int[Array, 'B S'],
        source_context: LayerContext,
        tokens: Tokens,
        context: LayerContext,
        train: bool,
    ) -> OutputProjection:
        """Return the last hidden states of the tokens with their projection to the vocabulary, not the logits."""
        prefix = _there(source_context).sum(axis=-1)
        segments = jnp.concatenate([_there(source_context), _there(context)], axis=-1)
        positions = jnp.concatenate([source_context.positions, prefix[:, None] + context.positions], axis=-1)
        # Masks and score terms count places in a row, so the padding of the source may not stand between the two.
        order = padding_last(segments)
        row, segments, positions = (
            jnp.take_along_axis(each, order, axis=-1)
            for each in (jnp.concatenate([source, tokens], axis=-1), segments, positions)
        )
        row_context = LayerContext(positions, segments, prefix=prefix)
        projection = self.tower.output_projection(row, row_context, train)
        of_tokens = jnp.argsort(order, axis=-1)[:, source.shape[1] :]
        # The source's own hidden states need no logits.
        return projection.replace(hidden=jnp.take_along_axis(projection.hidden, of_tokens[..., None], axis=-2))

    def encode(self, source: Int[Array, 'B S'], source_context: LayerContext, capacity: int) -> DecoderState:
        """Run the decoder over the sources; return the state to decode `capacity` tokens a row, padding included."""
        state = self.tower.init_state(source, source.shape[1] + capacity)
        there = _there(source_context)
        return self.tower.step(source, there, state, prefix=there.sum(axis=-1))[1]

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: DecoderState) -> tuple[Logits, DecoderState]:
        """Run a chunk of target tokens; return its logits and the state. At padding the position does not advance."""
        return self.tower.step(tokens, segments, state)


def _there(context: LayerContext) -> Int[Array, 'B T']:
    """The segments of a side, which has one text."""
    return (context.numbered != 0).astype(jnp.int32)
