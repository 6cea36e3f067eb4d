# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Prefix LM: one decoder over rows of a source followed by its target; the source is the prefix.

    row = source, tokens;   logits = decoder(row), at the tokens;   mask: j <= i, or j in the source

Liu et al. 2018, "Generating Wikipedia by Summarizing Long Sequences", section 4.2.3, https://arxiv.org/abs/1801.10198;
with bidirectional attention within the source it is the prefix LM of Dong et al. 2019, "Unified Language Model
Pre-training", section 3, https://arxiv.org/abs/1905.03197, and of Raffel et al. 2020, figure 4,
https://arxiv.org/abs/1910.10683. The mask `ops.mask:CausalAfterPrefix` of its mixers selects this; with
`ops.mask:Causal` it is a causal language model of source and target. The tasks and searches of an encoder-decoder
support it. Cost: that of a decoder of S + T tokens.
"""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.model.decoder import Decoder, DecoderState
from saccade.module import Module, context_of, on_device
from saccade.ops.padding import padding_last
from saccade.ops.vocabulary import OutputProjection
from saccade.types import ArrayLike, Count, LayerContext, Logits, Part, Tokens, UserError

__all__ = ['PrefixDecoder']

_NAME = 'model.prefix_decoder:PrefixDecoder'


class PrefixDecoder(Module):
    """Prefix LM.

    Attributes:
        decoder: decoder of rows of source and target; its context length is for both together.
        source_context_length: maximum length of the source, in tokens.
    """

    decoder: Part[Decoder]
    source_context_length: Count

    why_not: ClassVar[dict[str, str]] = {
        'LanguageModel': 'it generates from a source: use launch/translate.py',
    }

    @property
    def vocabulary(self) -> int:
        """V, the shared vocabulary size of source and target."""
        return self.decoder['vocabulary']

    @property
    def context_length(self) -> int:
        """Maximum length of the target, in tokens: the decoder's context length less the source's."""
        return self.decoder['context_length'] - self.source_context_length

    @classmethod
    def at_lengths(cls, part: Part, source: int, target: int) -> Part:
        """Return the config of the same model with these maximum lengths, in tokens."""
        decoder = part['decoder'].target.at_length(part['decoder'], source + target)
        return part.replace(decoder=decoder, source_context_length=source)

    def setup(self) -> None:
        """Create the decoder.

        Raises:
            UserError: `source_context_length` is not between 1 and the decoder's context length less 1.
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
        source: ArrayLike,
        source_context: LayerContext,
        tokens: ArrayLike,
        context: LayerContext | None = None,
        train: bool = False,
    ) -> Logits:
        """Return the logits of the tokens. Without a context of these, positions are 0 to T-1, one document a row."""
        source, tokens = on_device(source), on_device(tokens)
        source_context, context = context_of(self, source, source_context), context_of(self, tokens, context)
        return self.output_projection(source, source_context, tokens, context, train).logits()

    def output_projection(
        self,
        source: Int[Array, 'B S'],
        source_context: LayerContext,
        tokens: Tokens,
        context: LayerContext,
        train: bool,
    ) -> OutputProjection:
        """Return the last hidden states of the tokens and their projection to the vocabulary, instead of the logits."""
        prefix = _there(source_context).sum(axis=-1)
        segments = jnp.concatenate([_there(source_context), _there(context)], axis=-1)
        positions = jnp.concatenate([source_context.positions, prefix[:, None] + context.positions], axis=-1)
        # Masks and score terms use places in a row, so there must be no padding between source and target.
        order = padding_last(segments)
        row, segments, positions = (
            jnp.take_along_axis(each, order, axis=-1)
            for each in (jnp.concatenate([source, tokens], axis=-1), segments, positions)
        )
        row_context = LayerContext(positions, segments, prefix=prefix)
        projection = self.tower.output_projection(row, row_context, train)
        of_tokens = jnp.argsort(order, axis=-1)[:, source.shape[1] :]
        # Logits of the source are not needed.
        return projection.replace(hidden=jnp.take_along_axis(projection.hidden, of_tokens[..., None], axis=-2))

    def encode(self, source: Int[Array, 'B S'], source_context: LayerContext, capacity: int) -> DecoderState:
        """Run the decoder over the sources; return the state for `capacity` tokens per row, including padding."""
        state = self.tower.init_state(source, source.shape[1] + capacity)
        there = _there(source_context)
        return self.tower.step(source, there, state, prefix=there.sum(axis=-1))[1]

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: DecoderState) -> tuple[Logits, DecoderState]:
        """Run a chunk of target tokens; return its logits and the new state. Padding does not advance the position."""
        return self.tower.step(tokens, segments, state)


def _there(context: LayerContext) -> Int[Array, 'B T']:
    """The segments of a side, which has one text."""
    return (context.numbered != 0).astype(jnp.int32)
