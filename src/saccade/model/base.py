# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base class of decoders and encoders: an embedding, positions, a stack of layers and a final norm."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import flax.linen as nn
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.embed.token import TokenEmbedding
from saccade.model.stack import Stack, Unrolled
from saccade.module import Module
from saccade.norm.layer import LayerNorm
from saccade.position.none import NoPosition
from saccade.types import (
    Block,
    Count,
    Embedding,
    Hidden,
    Inputs,
    LayerContext,
    Norm,
    PairPosition,
    Part,
    Positive,
    Runner,
    ScoreTerm,
    Share,
    State,
    Table,
    TokenPosition,
    UserError,
)


class TransformerBase(Module):
    """Base class of decoders and encoders.

    Attributes:
        context_length: maximum sequence length, in tokens or other inputs.
        width: model width (D).
        layers: number of layers (L).
        block: one block, or a repeated pattern of blocks.
        first_blocks: blocks of single layers before the repeated pattern; included in L.
        last_blocks: blocks of single layers after the repeated pattern; included in L.
        position: position scheme of the embedded tokens.
        norm: norm after the last layer.
        run: runner of the layers, scanned or unrolled.
        passes: number of passes through the layers, with the same weights (Dehghani et al. 2019, "Universal
            Transformers", https://arxiv.org/abs/1807.03819; ALBERT has one layer and twelve passes).
        embed: embedding of the inputs: tokens, images or others.
        vocabulary: vocabulary size (V), at least the tokenizer's; None if tokens are neither embedded nor predicted.
        embedding_scale: factor of the embedded inputs; sqrt(D) in Vaswani et al. 2017, section 3.4, and in Gemma.
        shared: score terms that all layers add to their own, such as T5's table; its rotations are not used.
        dropout: dropout rate of the embedded tokens.
        embedding_init: initialiser of the embedding of the vocabulary.
    """

    context_length: Count
    width: Count
    layers: Count
    block: Part[Block] | tuple[Part[Block], ...]
    position: Part[TokenPosition] = Part(NoPosition)
    norm: Part[Norm] = Part(LayerNorm)
    run: Part[Runner] = Part(Unrolled)
    passes: Count = 1
    first_blocks: tuple[Part[Block], ...] = ()
    last_blocks: tuple[Part[Block], ...] = ()
    embed: Part[Embedding] = Part(TokenEmbedding)
    vocabulary: Count | None = None
    embedding_scale: Positive = 1.0
    shared: Part[PairPosition] | None = None
    dropout: Share = 0.0
    embedding_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    @classmethod
    def at_length(cls, part: Part, length: int) -> Part:
        """Return the config of the same model for sequences of up to `length` tokens."""
        return part.replace(context_length=length)

    @property
    def reads(self) -> str | tuple[str, ...]:
        """Name of the inputs in a batch, or the names of several arrays."""
        return self.embed(parent=None).reads

    def _refuse(self) -> None:
        """Refuse sizes that cannot be."""
        if not self.block:
            raise UserError(f'{Part(type(self)).name}: block is empty; it needs a block, or a pattern of blocks')

    def _table(self, width: int) -> Table | None:
        """Return the embedding table of the vocabulary, if there is one."""
        if self.vocabulary is None:
            return None
        return parameter(self, 'embedding', 'V D', self.embedding_init(), (self.vocabulary, width))

    def _embedded(
        self, inputs: Inputs, context: LayerContext, width: int, table: Table | None
    ) -> tuple[Float[Array, 'B T E'], LayerContext]:
        x, context = self.embed(name='embed')(inputs, context, width, table)
        if x.shape[1] > self.context_length:
            raise UserError(
                f'a sequence of {x.shape[1]} tokens does not fit the context of {self.context_length}; shorten the '
                'rows: data.context_length, or data.source_context_length of a source, must be at most '
                f'{self.context_length}'
            )
        return self.embedding_scale * x, context

    def _contextual(
        self, x: Hidden, context: LayerContext, train: bool, state: tuple[State, ...] | None
    ) -> tuple[Hidden, tuple[State, ...] | None]:
        """Run embedded tokens through the layers and the final norm; also return the state of each layer."""
        x, context = self._entering(x, context)
        x, state = self._stack(name='layers').mix(x, context, train, state)
        return self._normed(x, context), state

    def _entering(self, x: Hidden, context: LayerContext) -> tuple[Hidden, LayerContext]:
        """Return the input of the first layer, and the context with the score terms of all layers."""
        x = self.tap('embedded', 'B T D', x, real=context.real)
        return x, context.replace(terms=(*context.terms, *self._shared()))

    def _normed(self, x: Hidden, context: LayerContext) -> Hidden:
        return self.tap('final_norm', 'B T D', self.norm(name='norm')(x, context.real), real=context.real)

    def _shared(self) -> tuple[ScoreTerm, ...]:
        """Return the score terms shared by all layers, whose numbers of heads must agree."""
        if self.shared is None:
            return ()
        name = Part(type(self)).name
        inner = [part for block in self.blocks for part in block.walk()]
        heads = {part(parent=None).heads for part in inner if hasattr(part.target, 'heads_in_words')}
        if len(heads) != 1:
            raise UserError(
                f'{name}: shared, {self.shared.name}, needs layers with the same number of heads, not {sorted(heads)}'
            )
        terms = self.shared(name='shared').terms(*heads)
        if not terms:
            raise UserError(f'{name}: shared must have score terms, but {self.shared.name} has none')
        return terms

    @property
    def blocks(self) -> tuple[Part[Block], ...]:
        """The blocks of all layers: first, repeated and last."""
        pattern = self.block if isinstance(self.block, tuple) else (self.block,)
        return *self.first_blocks, *pattern, *self.last_blocks

    def kinds(self) -> Iterator[tuple[str, Part[Block]]]:
        """Yield each block type with a description of its layers, empty if all layers have that type."""
        yield from _at_an_end('first', self.first_blocks)
        pattern = self.block if isinstance(self.block, tuple) else (self.block,)
        numbers: dict[Part[Block], list[int]] = {}
        for number, block in enumerate(pattern, start=1):
            numbers.setdefault(block, []).append(number)
        for block, of in numbers.items():
            yield '' if len(numbers) == 1 else f'layers {", ".join(map(str, of))} of every {len(pattern)}: ', block
        yield from _at_an_end('last', self.last_blocks)

    def _stack(self, **place: Any) -> Stack:
        shared = ('block', 'layers', 'run', 'passes', 'first_blocks', 'last_blocks')
        return Stack(**{name: getattr(self, name) for name in shared}, **place)


def _at_an_end(end: str, blocks: tuple[Part[Block], ...]) -> Iterator[tuple[str, Part[Block]]]:
    for block, count in Counter(blocks).items():
        yield f'{end} {count} layer{"s" * (count != 1)}: ', block
