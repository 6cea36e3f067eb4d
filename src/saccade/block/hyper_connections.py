# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Hyper-connections: R residual streams, which branches read and update with trained weights.

    z = sum_r a_r0 h_r;   h'_m = sum_r a_rm h_r + b_m branch(norm(z))        a [R R+1], b [R], for each branch

Zhu et al. 2024, "Hyper-Connections", equations 1 to 5 and 14, https://arxiv.org/abs/2409.19606. The streams start as
copies of the embedded tokens and are summed at the end. At initialisation a branch reads one stream and adds to all of
them, so the sum is R times that of pre-norm. With `dynamic` the weights depend on the token (equations 10 to 13):
a + s tanh(norm(h) W), W [D R+1], and likewise for b; s is initialised to 0.01 and W to 0. The stream that a branch
reads at initialisation is drawn at random; in the paper branch k reads stream k mod R. Added cost over pre-norm:
T D R (R + 2), twice that if dynamic. The paper initialises each branch's last kernel sqrt(R) times as large: set this
through its initialiser.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.block.base import ResidualStreams, together
from saccade.ops.project import each_head
from saccade.types import Count, Hidden, LayerContext, Norm, Part, Real, State

__all__ = ['HyperConnections']


class HyperConnections(ResidualStreams):
    """Hyper-connections block.

    Attributes: streams, their number (R); dynamic, whether the weights depend on the token, through `norm`.
    """

    identity: ClassVar[bool] = True
    example: ClassVar[dict] = {'streams': 2, 'dynamic': True}

    streams: Count
    dynamic: bool

    @property
    def count(self) -> int:
        """R, the number of residual streams."""
        return self.streams

    def reduce(self, x: Float[Array, 'B T RD']) -> Hidden:
        """Return the sum of the streams."""
        return jnp.sum(self.apart(x), axis=-2)

    @nn.compact
    def mix(
        self, x: Float[Array, 'B T RD'], context: LayerContext, train: bool, state: State | None
    ) -> tuple[Float[Array, 'B T RD'], State]:
        """Run mixer and feed-forward layer; each reads a weighted sum of the streams and adds to all of them."""
        real = context.real
        z, streams, b = self.connection('mixer')(self.apart(x), real)
        mixed, state = self.run_mixer(self.norm_of('mixer')(z, real), context, train, state)
        streams = streams + b[..., None] * mixed[..., None, :]
        if self.feedforward is not None:
            z, streams, b = self.connection('feedforward')(streams, real)
            branch = self.run_feedforward(self.norm_of('feedforward')(z, real), context, train)
            streams = streams + b[..., None] * branch[..., None, :]
        return together(streams), state

    def connection(self, branch: str) -> nn.Module:
        """Return the module that computes a branch's input, the mixed streams, and the weights b."""
        return _Connection(self.norm if self.dynamic else None, name=f'{branch}_connection')


class _Connection(nn.Module):
    """Computes the input of a branch, the mixed streams, and the weights b of the branch's output.

    Attributes: norm, before the dynamic weights; None for static weights.
    """

    norm: Part[Norm] | None

    @nn.compact
    def __call__(
        self, streams: Float[Array, 'B T R D'], real: Real | None
    ) -> tuple[Hidden, Float[Array, 'B T R D'], Float[Array, '*#BT R']]:
        R, D = streams.shape[-2:]
        a = parameter(self, 'read_bias', 'X X', _reading_one, (R, R + 1))
        b = parameter(self, 'add_bias', 'X', nn.initializers.ones, (R,))
        if self.norm is not None:
            normed = each_head(self.norm(name='norm'), streams, real)
            a = a + self._change('read', normed, (D, R + 1))
            b = b + self._change('add', normed, (D, 1))[..., 0]
        weighed = jnp.einsum('...RM,...RD->...MD', a, streams)
        return weighed[..., 0, :], weighed[..., 1:, :], b

    def _change(self, name: str, normed: Float[Array, 'B T R D'], shape: tuple[int, int]) -> Float[Array, 'B T R M']:
        small = parameter(self, f'{name}_scale', '', nn.initializers.constant(0.01), ())
        kernel = parameter(self, name, 'D -> X', nn.initializers.zeros, shape)
        return small * jnp.tanh(jnp.einsum('BTRD,DM->BTRM', normed, kernel))


def _reading_one(key: Any, shape: tuple[int, int]) -> Float[Array, 'R M']:
    """Initialise so that the branch reads one stream, drawn at random, and the streams are not mixed."""
    R, _ = shape
    first = jax.nn.one_hot(jax.random.randint(key, (), 0, R), R)
    return jnp.concatenate((first[:, None], jnp.eye(R)), axis=-1)
