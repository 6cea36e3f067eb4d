# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Encoder-decoder Transformer: decoder layers attend to the encoder's output through cross-attention.

    h = encoder(source);   logits = decoder(tokens, h)           a decoder layer: mix, attend to h, feed forward

Vaswani et al. 2017, "Attention Is All You Need", figure 1, https://arxiv.org/abs/1706.03762. T5 (Raffel et al. 2020,
https://arxiv.org/abs/1910.10683) and Marian are the same class with other parts; so is a BERT with a new decoder (Rothe
et al. 2020, https://arxiv.org/abs/1907.12461), as `encoder` has the parameters of `model.encoder:Encoder`. For
decoding, a source is encoded once, and its keys and values are precomputed. With `shared_embedding` both sides use the
encoder's embedding.
"""

from typing import ClassVar

from jaxtyping import Array, Int

from saccade.model.decoder import Decoder, DecoderState
from saccade.model.encoder import Encoder
from saccade.module import Module, context_of, on_device
from saccade.ops.vocabulary import OutputProjection
from saccade.types import ArrayLike, LayerContext, Logits, Part, Source, Table, Tokens, UserError

__all__ = ['EncoderDecoder']

_NAME = 'model.encoder_decoder:EncoderDecoder'


class EncoderDecoder(Module):
    """Encoder-decoder Transformer.

    Attributes:
        encoder: encoder of the source; its output heads are not run.
        decoder: decoder of the target, with blocks that have `cross`.
        shared_embedding: whether the decoder uses the encoder's embedding, also as its output projection if tied.
    """

    encoder: Part[Encoder]
    decoder: Part[Decoder]
    shared_embedding: bool = True

    why_not: ClassVar[dict[str, str]] = {
        'LanguageModel': 'it generates from a source: use launch/translate.py',
    }

    @property
    def vocabulary(self) -> int:
        """V, the vocabulary size of the target."""
        return self.decoder['vocabulary']

    @property
    def source_vocabulary(self) -> int | None:
        """Size of the source's own vocabulary; None if both sides share one, or the source is not text."""
        return None if self.shared_embedding else dict(self.encoder.arguments).get('vocabulary')

    @property
    def context_length(self) -> int:
        """Maximum length of the target, in tokens."""
        return self.decoder['context_length']

    @property
    def source_context_length(self) -> int:
        """Maximum length of the source, in tokens."""
        return self.encoder['context_length']

    @classmethod
    def at_lengths(cls, part: Part, source: int, target: int) -> Part:
        """Return the config of the same model with these maximum lengths, in tokens."""
        lengths = {'encoder': source, 'decoder': target}
        return part.replace(
            **{name: part[name].target.at_length(part[name], length) for name, length in lengths.items()}
        )

    def setup(self) -> None:
        """Create encoder and decoder.

        Raises:
            UserError: they are incompatible.
        """
        self.refuse()
        self.source_tower, self.target_tower = self.encoder(name='encoder'), self.decoder(name='decoder')

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
        source: Array,
        source_context: LayerContext,
        tokens: Tokens,
        context: LayerContext,
        train: bool,
    ) -> OutputProjection:
        """Return the decoder's last hidden states and their projection to the vocabulary, instead of the logits."""
        read, table = self._encoded(source, source_context, train)
        return self.target_tower.output_projection(tokens, context.replace(source=read), train, table)

    def encode(self, source: Array, source_context: LayerContext, capacity: int) -> DecoderState:
        """Encode the sources; return the state for decoding `capacity` tokens per row, including padding."""
        return self.target_tower.init_source_state(self._encoded(source, source_context, False)[0], capacity)

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: DecoderState) -> tuple[Logits, DecoderState]:
        """Run a chunk of target tokens; return its logits and the new state. Padding does not advance the position."""
        table = self.get_variable('params', 'encoder')['embedding'] if self.shared_embedding else None
        return self.target_tower.step(tokens, segments, state, table)

    def _encoded(self, source: Array, context: LayerContext, train: bool) -> tuple[Source, Table | None]:
        """Return the source of the cross-attention, and the encoder's embedding if it is shared."""
        hidden, reading = self.source_tower.encode(source, context, train)
        read = Source(hidden, reading.context.positions, reading.context.segments)
        return read, reading.table if self.shared_embedding else None

    def refuse(self) -> None:
        """Raise a UserError if encoder and decoder are incompatible."""
        encoder, decoder = self.encoder(parent=None), self.decoder(parent=None)
        for block in decoder.blocks:
            cross = dict(block.arguments).get('cross')
            if cross is None:
                raise UserError(f'{_NAME}: {block.name} of the decoder has no cross, so that it cannot read the source')
            _refuse_distances(cross)
        own, given = ((each.vocabulary, each.embedding_width or each.width) for each in (decoder, encoder))
        if self.shared_embedding and encoder.vocabulary is None:
            raise UserError(f'{_NAME}: the encoder has no vocabulary to share; set shared_embedding to False')
        if self.shared_embedding and given != own:
            raise UserError(
                f'{_NAME}: an embedding of {given[0]} x {given[1]} cannot serve a decoder of {own[0]} x {own[1]} too; '
                f'set shared_embedding to False'
            )


def _refuse_distances(cross: Part) -> None:
    """Raise an error for scores by distance, which is not defined between two sequences."""
    for inner in cross.walk():
        if getattr(inner.target, 'by_distance', False):
            raise UserError(f'{_NAME}: cross reads another sequence, to whose tokens {inner.name} has no distance')
