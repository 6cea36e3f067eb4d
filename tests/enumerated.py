# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A distribution over all sequences of a small vocabulary, whose last token is [MASK], and its exact denoiser."""

import itertools

import flax.linen as nn
import jax.numpy as jnp
import numpy as np

LENGTH = 3


def sequences(vocabulary):
    """All sequences without [MASK]."""
    return np.array([*itertools.product(range(vocabulary - 1), repeat=LENGTH)])


def joint_of(vocabulary):
    """The probability of each sequence."""
    weights = np.exp(1.5 * np.sin(1 + 3 * np.arange(len(sequences(vocabulary)))))
    return weights / weights.sum()


class Denoiser(nn.Module):
    """log p of each token given the tokens that are not masked, to a power; [MASK] has the highest logit.

    Attributes: power, 1 for the exact denoiser.
    """

    vocabulary: int
    power: float = 1.0
    context_length: int = LENGTH
    reads: str = 'tokens'
    heads: tuple = (('masked', None),)

    def __call__(self, tokens, context=None, train=False, at=None):
        every = jnp.asarray(sequences(self.vocabulary))
        tokens = jnp.asarray(tokens)[:, None]
        fits = ((tokens == every) | (tokens == self.vocabulary - 1)).all(axis=-1)  # of each row and sequence
        joint = fits * jnp.asarray(joint_of(self.vocabulary), jnp.float32)
        has = every[:, :, None] == jnp.arange(self.vocabulary - 1)
        shares = jnp.einsum('BK,KTV->BTV', joint / joint.sum(axis=1, keepdims=True), has.astype(jnp.float32))
        logits = self.power * jnp.log(jnp.maximum(shares, 1e-30))
        logits = jnp.pad(logits, ((0, 0), (0, 0), (0, 1)), constant_values=50.0)
        return logits if context is None else {'masked': logits}
