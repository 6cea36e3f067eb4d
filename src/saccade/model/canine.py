# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""CANINE: an encoder of characters whose deep layers read one place for each r characters.

    h = first(x)                                                                one layer over characters
    m = norm([h_0, f(W [h_ri; ...; h_(ri+r-1)] + b) for i = 0, 1, ...])         molecules, after the first character
    m = block_l(m),  l = 1..L                                                   layers over molecules
    u = norm(f(convolution over w places of [h_t; m_(1 + floor(t/r))]))         characters again
    y = last(u)                                                                 one layer over characters

Clark et al. 2022, "CANINE: Pre-training an Efficient Tokenization-Free Encoder for Language Representation", section
3.2, https://arxiv.org/abs/2103.06874. Its characters are hashed (`embed.hashed:HashedEmbedding`), and its first layer
has attention within chunks of 128 characters (`ops.mask:Chunked`). Two details differ from the published code, so that
padding after a text changes nothing: the last molecule is not dropped, and a molecule is padding if its own characters
are. Heads read characters; in the paper those for whole texts read the first molecule. A row is one segment. Cost: that
of L layers over T / r places, and of two layers over T.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float, Shaped

from saccade.axes import parameter
from saccade.model.encoder import Encoder
from saccade.model.stack import Stack
from saccade.norm.layer import LayerNorm
from saccade.ops.activation import gelu
from saccade.ops.project import project
from saccade.types import Activation, Block, Count, Hidden, LayerContext, Norm, Part, State

__all__ = ['Canine']


class Canine(Encoder):
    """Encoder of characters, with layers over molecules of several characters.

    Attributes:
        rate: r, characters per molecule; 4 in the paper.
        reach: w, places of the convolution that returns to characters; 4 in the paper.
        first: block over characters before the layers; None for the first of `block`.
        last: block over characters after the layers; None for the first of `block`.
        activation: activation after both convolutions; GELU in the paper.
        inner_norm: norm after both convolutions.
        kernel_init: initialiser of both kernels.
    """

    rate: Count = 4
    reach: Count = 4
    first: Part[Block] | None = None
    last: Part[Block] | None = None
    activation: Part[Activation] = Part(gelu)
    inner_norm: Part[Norm] = Part(LayerNorm)
    kernel_init: Part = Part(nn.initializers.lecun_normal)

    example: ClassVar[dict[str, Any]] = {'rate': 2}

    def _contextual(
        self, x: Hidden, context: LayerContext, train: bool, state: tuple[State, ...] | None
    ) -> tuple[Hidden, None]:
        """Return the characters after the first layer, the layers over molecules, and the last layer."""
        x = self.tap('embedded', 'B T D', x)
        shared = context.replace(terms=(*context.terms, *self._shared()))
        characters = self._layer('first_layers', self.first)(x, shared, train)
        molecules, of_molecules = self._molecules(characters, shared)
        molecules = self._stack(name='layers')(molecules, of_molecules, train)
        x = nn.Dropout(self.dropout)(self._characters(molecules, characters, context), deterministic=not train)
        x = self._layer('last_layers', self.last)(x, shared, train)
        return self._normed(x, context), None

    def _layer(self, name: str, block: Part[Block] | None) -> Stack:
        return Stack(block=block or super().blocks[0], layers=1, run=self.run, name=name)

    def _molecules(self, x: Hidden, context: LayerContext) -> tuple[Float[Array, 'B P D'], LayerContext]:
        """Return the first character and a place for each group of characters, and their context."""
        real = context.numbered != 0
        groups, real = self._grouped(x * real[..., None]), self._grouped(real[..., None])[..., 0]
        shape = (self.rate, self.width, self.width)
        kernel = parameter(self, 'molecule_kernel', 'X D -> D', self.kernel_init(), shape)
        bias = parameter(self, 'molecule_bias', 'D', nn.initializers.zeros, (self.width,))
        found = project(rearrange(groups, 'B P r D -> B P (r D)'), rearrange(kernel, 'r D E -> (r D) E')) + bias
        found = jnp.concatenate([x[:, :1], self.activation(found)], axis=1)
        real = jnp.concatenate([real[:, 0, :1], real.any(axis=2)], axis=1)
        positions = jnp.broadcast_to(jnp.arange(found.shape[1]), real.shape)
        of_molecules = context.replace(positions=positions, segments=real.astype(jnp.int32), types=None)
        return self.inner_norm(name='molecule_norm')(found, of_molecules.real), of_molecules

    def _characters(self, molecules: Float[Array, 'B P D'], x: Hidden, context: LayerContext) -> Hidden:
        """Return a place for each character, from its molecule and the characters around it."""
        repeated = jnp.repeat(molecules[:, 1:], self.rate, axis=1)[:, : x.shape[1]]
        both = jnp.concatenate([x, repeated], axis=-1) * (context.numbered != 0)[..., None]
        before = (self.reach - 1) // 2
        both = jnp.pad(both, ((0, 0), (before, self.reach - 1 - before), (0, 0)))
        shape = (self.reach, 2 * self.width, self.width)
        kernel = parameter(self, 'character_kernel', 'X D -> D', self.kernel_init(), shape)
        bias = parameter(self, 'character_bias', 'D', nn.initializers.zeros, (self.width,))
        found = bias + sum(project(both[:, at : at + x.shape[1]], kernel[at]) for at in range(self.reach))
        return self.inner_norm(name='character_norm')(self.activation(found), context.real)

    def _grouped(self, x: Shaped[Array, 'B T D']) -> Shaped[Array, 'B P r D']:
        missing = -x.shape[1] % self.rate
        return rearrange(jnp.pad(x, ((0, 0), (0, missing), (0, 0))), 'B (P r) D -> B P r D', r=self.rate)

    @property
    def blocks(self) -> tuple[Part[Block], ...]:
        """The blocks of all layers: over characters, over molecules, and over characters again."""
        inner = super().blocks
        return self.first or inner[0], *inner, self.last or inner[0]
