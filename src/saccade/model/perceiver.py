# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Perceiver IO: an encoder whose layers run over M latents, which read the inputs once, and which outputs query.

    z = read(Z; norm(x)),   z = block_l(z),  l = 1..L,   y_t = write(O_t; norm(z)),   Z [M D] and O [T D] trained

Jaegle et al. 2022, "Perceiver IO: A General Architecture for Structured Inputs & Outputs", section 3.1,
https://arxiv.org/abs/2107.14795. read(A; B) and write(A; B) are blocks whose mixer attends from A to B. The queries O
are of positions, as in its language models; heads read the outputs, so whole texts are read from the first one. The
paper's inputs, latents and outputs have widths of their own; ours have one, and outputs keep the residual of their
query. `passes` repeats the layers with the same weights. A row is one document: outputs of a row that is packed with
more are NaN, since a compiled program cannot raise an error. Cost: that of L layers over M places, and of two over T
with M keys or queries.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.model.encoder import Encoder
from saccade.model.stack import Stack
from saccade.norm.layer import LayerNorm
from saccade.types import Block, Count, Hidden, LayerContext, Norm, Part, Source, State

__all__ = ['Perceiver']


class Perceiver(Encoder):
    """Encoder with layers over latents.

    Attributes:
        latents: number of latents (M).
        read: block from latents to inputs, with a mixer that has cross-attention; None for the first of `block`.
        write: block from output queries to latents, with a mixer that has cross-attention; None for the first of
            `block`.
        source_norm: norm of the inputs, and of the latents, where they are read.
        latents_init: initialiser of Z.
        queries_init: initialiser of O.
    """

    latents: Count
    read: Part[Block] | None = None
    write: Part[Block] | None = None
    source_norm: Part[Norm] = Part(LayerNorm)
    latents_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))
    queries_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    example: ClassVar[dict[str, Any]] = {'latents': 4}

    def _contextual(
        self, x: Hidden, context: LayerContext, train: bool, state: tuple[State, ...] | None
    ) -> tuple[Hidden, None]:
        """Return the outputs, after the latents have read the inputs and passed the layers."""
        x = self.tap('embedded', 'B T D', x)
        row = context.replace(segments=None if context.segments is None else context.real.astype(jnp.int32))
        inputs = Source(self.source_norm(name='inputs_norm')(x, row.real), row.positions, row.segments)
        z = parameter(self, 'latents', 'M D', self.latents_init(), (self.latents, self.width), decays=True)
        z = jnp.broadcast_to(z.astype(x.dtype), (len(x), *z.shape))
        places = jnp.broadcast_to(jnp.arange(self.latents), z.shape[:2])
        z = self._layer('read_layers', self.read)(z, LayerContext(places, source=inputs), train)
        of_latents = LayerContext(places, terms=(*context.terms, *self._shared()))
        z = self.tap('latents_output', 'B M D', self._stack(name='layers')(z, of_latents, train))
        table = parameter(self, 'queries', 'T D', self.queries_init(), (self.context_length, self.width))
        queries = jnp.take(table, row.positions, axis=0).astype(x.dtype)
        read = Source(self.source_norm(name='latents_norm')(z), places)
        y = self._layer('write_layers', self.write)(queries, row.replace(source=read), train)
        numbers = context.numbered  # 0 for padding; the latents would mix documents
        packed = ((numbers > 0) & (numbers < numbers.max(axis=1, keepdims=True))).any(axis=1)
        y = jnp.where(packed[:, None, None], jnp.nan, y)
        return self._normed(y, context), None

    def _layer(self, name: str, block: Part[Block] | None) -> Stack:
        return Stack(block=block or super().blocks[0], layers=1, run=self.run, name=name)

    @property
    def blocks(self) -> tuple[Part[Block], ...]:
        """The blocks of all layers: of the latents that read, of the latents, and of the outputs."""
        inner = super().blocks
        return self.read or inner[0], *inner, self.write or inner[0]
