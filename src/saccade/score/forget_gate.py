# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Forgetting attention: each token has a forget gate; scores add the log gates between key and query.

    f_t = sigmoid(x_t W + b),   s[n, i, j] = scale q_i . k_j + log f_{j+1} + ... + log f_i,   one gate per head n

Lin, Nikishin, He, Courville 2025, "Forgetting Transformer: Softmax Attention with a Forget Gate", equations 3 to 5,
https://arxiv.org/abs/2503.02130. It replaces positions. With W = 0 it is ALiBi with slopes -log sigmoid(b). Only keys
that the mask allows are summed; scores of keys after the query are unchanged. Cost: S D N for the gates, a cumulative
sum per pair. Cross-attention is not supported.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.project import project
from saccade.ops.score_terms import ForgottenKeys
from saccade.types import Capabilities, Hidden, Part

__all__ = ['ForgetGate']


class ForgetGate(Module):
    """Forgetting attention.

    Attributes:
        kernel_init: initialiser of W [D N].
        bias_init: initialiser of b [N].
    """

    kernel_init: Part = Part(nn.initializers.lecun_normal)
    bias_init: Part = Part(nn.initializers.constant, (('value', 0.0),))

    by_distance: ClassVar[bool] = True
    capabilities: ClassVar[Capabilities] = Capabilities(cross=False, equivariant=False)

    def terms(self, heads: int) -> tuple[ForgottenKeys, ...]:
        """Return the term that adds the log gates between key and query."""
        return (ForgottenKeys(self.name),)

    def width(self, heads: int) -> int:
        """Return E: one log gate per query head."""
        return heads

    @nn.compact
    def features(self, x: Hidden, heads: int) -> Float[Array, 'B S N']:
        """Return the log gates of each token."""
        kernel = parameter(self, 'kernel', 'D -> N', self.kernel_init(), (x.shape[-1], heads))
        gates = project(x, kernel) + parameter(self, 'bias', 'N', self.bias_init(), (heads,))
        return jax.nn.log_sigmoid(gates.astype(jnp.float32)).astype(x.dtype)
