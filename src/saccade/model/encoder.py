# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Encoder-only Transformer (BERT): an embedding, L layers with bidirectional mixing, and output heads.

    x = norm(E[tokens] + positions + S[types]) W;   x = block_l(x), l = 1..L;   head_i(norm(x))

Devlin et al. 2019, "BERT", figure 2, https://arxiv.org/abs/1810.04805; BERT applies a norm after the sum and has
post-norm blocks, so it has no last norm. Only a factorised embedding has W (Lan et al. 2020, "ALBERT", section 3.1,
https://arxiv.org/abs/1909.11942). The mixer sets the attention mask: BERT's is a full mask.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.axes import parameter
from saccade.model.base import TransformerBase
from saccade.module import context_of, on_device
from saccade.ops.project import project
from saccade.ops.vocabulary import OutputProjection
from saccade.types import ArrayLike, Count, CountOrZero, Head, Hidden, Inputs, LayerContext, Norm, Part, Reading

__all__ = ['Encoder']


class Encoder(TransformerBase):
    """Encoder-only Transformer.

    Attributes:
        heads: output heads on the last hidden states, by name; the parameters of a head are in NAME_head.
        types: number of token type embeddings, 2 in BERT; 0 for none. RoBERTa has 1, which every token gets regardless
            of its type.
        embedding_width: width of embeddings (E); None for D.
        embedding_norm: norm of the sum of token, position and type embeddings; None for no norm.
    """

    heads: tuple[tuple[str, Part[Head]], ...] = ()
    types: CountOrZero = 0
    embedding_width: Count | None = None
    embedding_norm: Part[Norm] | None = None

    why_not: ClassVar[dict[str, str]] = {
        'LanguageModel': 'an encoder attends to later tokens, so it cannot generate from left to right; '
        'launch/fill_mask.py --turns=4 fills in a text of [MASK]s, and launch/generate.py --steps=64 samples from a '
        'masked diffusion model'
    }

    def setup(self) -> None:
        """Create the output heads, which read the output of `encode`."""
        self.output_heads = {name: head(name=f'{name}_head') for name, head in self.heads}

    def __call__(
        self,
        inputs: Inputs | ArrayLike,
        context: LayerContext | None = None,
        train: bool = False,
        at: Int[Array, 'B M'] | None = None,
    ) -> dict[str, Array]:
        """Return the output of each head, by name; heads that predict tokens do so only at the places `at`.

        Without a context, positions are 0 to T-1 and every row is one document.
        """
        inputs = on_device(inputs)
        context = context_of(self, inputs, context)
        x, reading = self.encode(inputs, context, train)
        return {name: head(x, reading.replace(at=at), train) for name, head in self.output_heads.items()}

    def output_projection(
        self, inputs: Inputs, context: LayerContext, train: bool, at: Int[Array, 'B M'] | None = None
    ) -> dict[str, Array | OutputProjection]:
        """Return the outputs of `__call__`, but the projection instead of the logits for heads that predict tokens."""
        x, reading = self.encode(inputs, context, train)
        return {
            name: getattr(head, 'output_projection', head)(x, reading.replace(at=at), train)
            for name, head in self.output_heads.items()
        }

    @nn.compact
    def encode(self, inputs: Inputs, context: LayerContext, train: bool) -> tuple[Hidden, Reading]:
        """Return the last hidden states, with their context and the token embedding, without running the heads."""
        self._refuse()
        width = self.embedding_width or self.width
        table = self._table(width)
        x, context = self._embedded(inputs, context, width, table)
        x = self._entered(x, context, train)
        x, _ = self._contextual(x, context, train, None)
        return x, Reading(context, table)

    def _entered(self, x: Float[Array, 'B T E'], context: LayerContext, train: bool) -> Hidden:
        x = self.position(name='position')(x, context.positions)
        if self.types:
            shape = (self.types, x.shape[-1])
            types = parameter(self, 'types', 'X D', self.embedding_init(), shape, decays=True)
            alike = context.types is None or self.types == 1
            given = jnp.zeros_like(context.positions) if alike else context.types
            x = x + jnp.take(types.astype(jnp.float32), given, axis=0).astype(x.dtype)
        if self.embedding_norm is not None:
            x = self.embedding_norm(name='embedding_norm')(x, context.real)
        x = nn.Dropout(self.dropout)(x, deterministic=not train)
        return x if self.embedding_width is None else self._widened(x)

    def _widened(self, x: Float[Array, 'B T E']) -> Hidden:
        kernel = parameter(self, 'embedding_output', 'D -> D', self.embedding_init(), (x.shape[-1], self.width))
        return project(x, kernel) + parameter(self, 'embedding_output_bias', 'D', nn.initializers.zeros, (self.width,))
