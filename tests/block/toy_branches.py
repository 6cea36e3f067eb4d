# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Branches for tests of how blocks are wired: small enough to be written down in NumPy."""

import flax.linen as nn
import jax.numpy as jnp

from saccade.types import Part


class Averaging(nn.Module):
    """A mixer: the sum of the tokens so far, over the number of the last, times a matrix. Its state is the sum.

    It lends the sums; who borrows them adds its own token to each.
    """

    def __call__(self, x, context, train):
        return self.share_kv(x, context, train, None)[0]

    def init_state(self, x, capacity):
        return jnp.zeros((x.shape[0], x.shape[-1]), x.dtype)

    def step(self, x, context, state):
        return self.share_kv_step(x, context, state, None)[:2]

    def share_kv(self, x, context, train, shared_kv):
        sums = jnp.cumsum(x, axis=1) if shared_kv is None else shared_kv
        return self._mix(sums if shared_kv is None else sums + x, context), sums

    def share_kv_step(self, x, context, state, shared_kv):
        sums = state[:, None] + jnp.cumsum(x, axis=1) if shared_kv is None else shared_kv
        return self._mix(sums if shared_kv is None else sums + x, context), sums[:, -1], sums

    @nn.compact
    def _mix(self, sums, context):
        kernel = self.param('output', nn.initializers.lecun_normal(), 2 * sums.shape[-1:])
        return (sums / (1.0 + context.positions[..., None])) @ kernel


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
