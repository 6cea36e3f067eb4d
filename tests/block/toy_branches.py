# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Branches for tests of how blocks are wired: small enough to be written down in NumPy."""

import flax.linen as nn
import jax.numpy as jnp

from saccade.module import Layer
from saccade.types import SHARED_KV, Part


class Averaging(Layer):
    """A mixer: the sum of the tokens so far, over the number of the last, times a matrix. Its state is the sum.

    It lends the sums; who borrows them adds its own token to each.
    """

    def init_state(self, x, capacity):
        return jnp.zeros((x.shape[0], x.shape[-1]), x.dtype)

    def mix(self, x, context, train, state):
        return self.mix_sharing(x, context, train, state)[:2]

    @nn.compact
    def mix_sharing(self, x, context, train, state):
        before = 0.0 if state is None else state[:, None]
        sums = context.handed.get(SHARED_KV, before + jnp.cumsum(x, axis=1))
        read = sums + x if SHARED_KV in context.handed else sums
        kernel = self.param('output', nn.initializers.lecun_normal(), 2 * sums.shape[-1:])
        return (read / (1.0 + context.positions[..., None])) @ kernel, sums[:, -1], sums


class Bending(nn.Module):
    """A feed-forward layer of one matrix."""

    @nn.compact
    def __call__(self, x, train, real=None):
        return jnp.tanh(x @ self.param('down', nn.initializers.lecun_normal(), 2 * x.shape[-1:]))


class Squashing(nn.Module):
    """A norm, with weights."""

    @nn.compact
    def __call__(self, x, real=None):
        return self.param('scale', nn.initializers.ones, x.shape[-1:]) * x / (1.0 + jnp.abs(x))


TOYS = {'mixer': Part(Averaging), 'feedforward': Part(Bending), 'norm': Part(Squashing)}
