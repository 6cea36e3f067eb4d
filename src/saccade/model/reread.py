# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Encoder-decoder that reads a text twice, with output heads: a causal decoder reads the text that was encoded.

    h = encoder(tokens);   x = decoder(start, t_1, .. t_(T-1); h);   head_i(x)

Lewis et al. 2020, "BART", sections 3.1 and 3.2, https://arxiv.org/abs/1910.13461: a classifier reads the decoder's last
hidden state at the last token. The encoder sees the whole text, so no hidden state depends on earlier tokens alone. The
parameters are `model.encoder_decoder:EncoderDecoder`'s, and the heads'.
"""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.model.decoder import Decoder
from saccade.model.encoder import Encoder
from saccade.model.encoder_decoder import EncoderDecoder
from saccade.module import Module, context_of, on_device
from saccade.ops.pool import last
from saccade.types import ArrayLike, CountOrZero, Head, Hidden, LayerContext, Part, Reading, Source, Tokens

__all__ = ['Reread']


class Reread(Module):
    """Encoder-decoder that reads a text twice.

    Attributes:
        encoder: encoder of the text; its own output heads are not run.
        decoder: decoder with blocks that have `cross`; it uses the encoder's embedding, and computes no logits.
        heads: output heads on the decoder's last hidden states, by name; the parameters of a head are in NAME_head.
        start: id of the decoder's first token; None for the last token of the row, as in mBART.
        end: id of the last token that heads of a whole text read, as what precedes the language of mBART; None for the
            last token of the row, as also in a row without it.
    """

    encoder: Part[Encoder]
    decoder: Part[Decoder]
    heads: tuple[tuple[str, Part[Head]], ...] = ()
    start: CountOrZero | None = 0
    end: CountOrZero | None = None

    why_not: ClassVar[dict[str, str]] = {
        'Seq2Seq': 'it reads one text and writes none; model.encoder_decoder:EncoderDecoder has the same towers',
        'LanguageModel': 'its encoder reads later tokens, so it cannot generate from left to right',
    }

    @property
    def vocabulary(self) -> int | None:
        """V, the vocabulary size."""
        return dict(self.encoder.arguments).get('vocabulary')

    @property
    def context_length(self) -> int:
        """Maximum length of a text, in tokens."""
        return min(self.encoder['context_length'], self.decoder['context_length'])

    @property
    def reads(self) -> str | tuple[str, ...]:
        """Name of the inputs in a batch."""
        return self.encoder(parent=None).reads

    @classmethod
    def at_length(cls, part: Part, length: int) -> Part:
        """Return the config of the same model for texts of up to `length` tokens."""
        towers = {name: part[name].target.at_length(part[name], length) for name in ('encoder', 'decoder')}
        return part.replace(**towers)

    def setup(self) -> None:
        """Create the towers and the output heads.

        Raises:
            UserError: encoder and decoder are incompatible.
        """
        EncoderDecoder(encoder=self.encoder, decoder=self.decoder, parent=None).refuse()
        self.source_tower, self.target_tower = self.encoder(name='encoder'), self.decoder(name='decoder')
        self.output_heads = {name: head(name=f'{name}_head') for name, head in self.heads}

    def __call__(
        self,
        inputs: ArrayLike,
        context: LayerContext | None = None,
        train: bool = False,
        at: Int[Array, 'B M'] | None = None,
    ) -> dict[str, Array]:
        """Return the output of each head, by name; heads that predict tokens do so only at the places `at`.

        Without a context, positions are 0 to T-1 and every row is one document.
        """
        inputs = on_device(inputs)
        x, reading = self.encode(inputs, context_of(self, inputs, context), train)
        return {name: head(x, reading.replace(at=at), train) for name, head in self.output_heads.items()}

    def encode(self, inputs: Tokens, context: LayerContext, train: bool) -> tuple[Hidden, Reading]:
        """Return the decoder's last hidden states, with their context and the token embedding."""
        hidden, reading = self.source_tower.encode(inputs, context, train)
        first = last(inputs[..., None], context.real) if self.start is None else self.start
        shifted = jnp.where(context.positions == 0, first, jnp.roll(inputs, 1, axis=1))
        read = context.replace(source=Source(hidden, context.positions, context.segments))
        hidden = self.target_tower.output_projection(shifted, read, train, reading.table).hidden
        return hidden, reading if self.end is None else reading.replace(context=self._up_to_end(inputs, context))

    def _up_to_end(self, inputs: Tokens, context: LayerContext) -> LayerContext:
        """Return the context without the tokens after the last `end` of each row."""
        ends = (inputs == self.end) & (context.numbered != 0)
        before = jnp.flip(jnp.cumsum(jnp.flip(ends, axis=1), axis=1), axis=1) > 0
        return context.replace(segments=jnp.where(before | ~ends.any(axis=1, keepdims=True), context.numbered, 0))
