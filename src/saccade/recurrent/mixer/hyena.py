# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Hyena, of order 2: a causal convolution as long as the row, between two gates; a small network makes its filter.

    y_t = (q_t * z_t) Wo,   z_t = w * u_t + sum over s <= t of h_(t-s) * u_s,   u = k * v,   * by elements
    q, k, v = short convolutions of x Wq, x Wk, x Wv;   h_s = exp(-r s / (L - 1)) * MLP(features of s)

Poli et al. 2023, "Hyena Hierarchy: Towards Larger Convolutional Language Models", sections 3.1 to 3.3,
https://arxiv.org/abs/2302.10866. The features of a distance s are s / (L - 1) and cosines and sines of 2 pi f s / L for
evenly spaced f; the MLP has sines of trained frequencies; r differs by feature. The authors' Wq, Wk, Wv, Wo have
biases. L is the longest row, since h is of distances up to it. Causal, without cross-attention and scores; documents
are separate, and each is convolved as if alone. Cost: 4 D^2 + D log^2 T per token; a decoding step of one token reads
all earlier ones, S D, and its state is S D. Each call makes the filter again, L F^2 for a width F of the MLP.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
import numpy as np
from flax import struct
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.module import Layer
from saccade.ops.convolution import convolve_long, convolve_newest
from saccade.ops.project import project
from saccade.recurrent.mixer.convolution import Convolution
from saccade.recurrent.mixer.newest_base import Newest
from saccade.recurrent.mixer.recurrent import own_segments
from saccade.types import Capabilities, Count, Hidden, LayerContext, Mixer, Part, Positive, Share, State, UserError

__all__ = ['Hyena']

FADED = 0.01  # a window's value after `fastest` or `slowest` of the length


@struct.dataclass
class HyenaState:
    """Decoding state: convolution, the state of the short convolution; inputs, the long convolution's inputs so far."""

    convolution: State
    inputs: Newest


class Hyena(Layer):
    """Hyena operator of order 2.

    Attributes:
        length: L, the number of tokens of the longest row.
        convolution: short convolution of the concatenated q, k and v.
        filter_width: hidden units of each layer of the filter's MLP.
        filter_layers: hidden layers of the filter's MLP.
        bands: number of frequencies f of the features.
        frequency: factor of the arguments of the MLP's sines, before training.
        fastest: share of the length after which the window of the first feature is 0.01.
        slowest: share of the length after which the window of the last feature is 0.01.
        dropout: of the output.
        kernel_init: initialiser of Wq, Wk, Wv and the MLP.
        output_init: initialiser of Wo.
    """

    length: Count
    convolution: Part[Mixer] = Part(Convolution, (('depthwise', True), ('size', 3)))
    filter_width: Count = 64
    filter_layers: Count = 3
    bands: Count = 16
    frequency: Positive = 14.0
    fastest: Positive = 0.3
    slowest: Positive = 1.5
    dropout: Share = 0.0
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False,
        cross=False,
        terms=False,
        equivariant=False,
        time='B T D (D + log^2 T)',
        memory='B T D log T',
        state='S D + M D',
    )
    example: ClassVar[dict[str, Any]] = {
        'length': 128,
        'bands': 2,
        'filter_width': 8,
        'convolution': {'use': 'recurrent.mixer.convolution:Convolution', 'size': 3, 'depthwise': True},
    }

    @nn.compact
    def mix(
        self, x: Hidden, context: LayerContext, train: bool, state: HyenaState | None
    ) -> tuple[Hidden, HyenaState | None]:
        """Convolve whole sequences, or a chunk after the inputs in the state.

        Raises:
            UserError: the context has a source or score terms, or there are more tokens than `length`.
        """
        segments, D = own_segments(self, context), x.shape[-1]
        self._require_length(x.shape[1])
        projected = [
            project(x, parameter(self, name, 'D -> D', self.kernel_init(), (D, D)))
            for name in ('query', 'key', 'value')
        ]
        short, convolved = self.convolution(name='convolution').mix(
            jnp.concatenate(projected, axis=-1), context, train, None if state is None else state.convolution
        )
        q, k, v = jnp.split(short, 3, axis=-1)
        u, kernel = self.tap('inputs', 'B T D', k * v), self._filter(D)
        if state is None:
            z, after = convolve_long(u, segments, kernel), None
        else:
            convolve = convolve_newest if x.shape[1] == 1 else convolve_long
            z, inputs = state.inputs.read(lambda u, segments: convolve(u, segments, kernel), u, segments)
            after = HyenaState(convolved, inputs)
        y = project(q * z.astype(x.dtype), parameter(self, 'output', 'D -> D', self.output_init(), (D, D)))
        return nn.Dropout(self.dropout)(y, deterministic=not train), after

    def init_state(self, x: Hidden, capacity: int) -> HyenaState:
        """Return the empty state, with a place for each token but the newest.

        Raises:
            UserError: the capacity exceeds `length`.
        """
        self._require_length(capacity)
        qkv = jnp.concatenate([x] * 3, axis=-1)
        return HyenaState(self.convolution(parent=None).init_state(qkv, capacity), Newest.empty(x, capacity - 1))

    def _filter(self, D: int) -> Float[Array, 'S D']:
        """Return h, and w added to h_0."""
        s = np.arange(self.length)[:, None]
        share = s / max(self.length - 1, 1)
        angles = 2 * np.pi * s / self.length * np.linspace(1e-4, self.bands - 1, self.bands)
        y = jnp.array(np.concatenate([share, np.cos(angles), -np.sin(angles)], axis=-1), jnp.float32)
        constant, zeros = nn.initializers.constant(self.frequency), nn.initializers.zeros
        frequency = self._filter_parameter('frequency', 'F', constant, self.filter_width)
        for layer in range(self.filter_layers):
            name, axes = f'filter_{layer}', 'F -> F' if layer else 'X -> F'
            kernel = self._filter_parameter(name, axes, self.kernel_init(), y.shape[-1], self.filter_width)
            y = y @ kernel + self._filter_parameter(f'{name}_bias', 'F', zeros, self.filter_width)
            y = jnp.sin(frequency * y)
        y = y @ self._filter_parameter('filter_output', 'F -> D', self.kernel_init(), self.filter_width, D)
        rates = -np.log(FADED) * np.linspace(1 / self.slowest, 1 / self.fastest, D)
        y = y * jnp.exp(-jnp.array(share * rates, jnp.float32))
        return y.at[0].add(self._filter_parameter('filter_bias', 'D', nn.initializers.normal(1.0), D))

    def _filter_parameter(self, name: str, axes: str, init: Any, *shape: int) -> Array:
        return parameter(self, name, axes, init, shape, dtype=jnp.float32)

    def _require_length(self, tokens: int) -> None:
        if tokens > self.length:
            raise UserError(f'{Part(type(self)).name}: {tokens} tokens exceed the length of {self.length}')
