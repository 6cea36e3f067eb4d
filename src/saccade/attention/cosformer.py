# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""cosFormer: linear attention whose weights fade with the distance of two tokens, by the cosine of an angle.

    w_ij = relu(q_i).relu(k_j) cos(pi (i - j) / 2M)          M at least the number of tokens of a row
         = a_i.a_j + b_i.b_j,   a_i = relu(x_i) cos(pi i / 2M),   b_i = relu(x_i) sin(pi i / 2M)
    y_i = sum_j w_ij v_j / sum_j w_ij                        over j <= i, or over all j

Qin et al. 2022, "cosFormer: Rethinking Softmax in Attention", equations 9 to 12, https://arxiv.org/abs/2202.08791
The authors' M is the length of the batch; ours is fixed, since a decoding state outlives a batch. All angles are from
0 to pi/2, so weights are never negative. Where no feature of a query meets one of a key, the output is 0. Keys of
another sequence have no distance, so there is no cross-attention. Cost and other limits: as `attention.linear`, for
R = 2 H.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.attention.memory_base import FeatureKernel
from saccade.ops.linear_attention import LogScaledState, within_one
from saccade.types import Capabilities, Count, Features, Keys, Part, Queries, Rows, UserError, Values

__all__ = ['CosFormer']


class CosFormer(FeatureKernel):
    """cosFormer kernel. Attributes: length (M) in tokens; chunk, in tokens."""

    length: Count

    capabilities: ClassVar[Capabilities] = Capabilities(
        cross=False, terms=False, sums=True, equivariant=False, time='B T N H^2', memory='B T N H', state='K H^2'
    )
    rows: ClassVar[Rows] = Rows(least=0.0, dense=False)
    example: ClassVar[dict] = {'chunk': 4, 'length': 128}

    def features(self, x: Queries, scale: float, positions: Int[Array, 'B T']) -> tuple[Array, Array]:
        """Return relu(x) times the cosine and the sine of the positions, scaled to a maximum of 1, and the log scale.

        Raises:
            UserError: there are more tokens than `length`.
        """
        self._require_length(x.shape[1])
        angle = (jnp.pi / 2 / self.length) * positions[..., None, None].astype(jnp.float32)
        x = jax.nn.relu(x.astype(jnp.float32))
        return within_one(jnp.concatenate([x * jnp.cos(angle), x * jnp.sin(angle)], axis=-1))

    def init_state(self, k: Keys, v: Values, features: Features, capacity: int) -> LogScaledState:
        """Return the empty state.

        Raises:
            UserError: the capacity exceeds `length`.
        """
        self._require_length(capacity)
        return super().init_state(k, v, features, capacity)

    def _require_length(self, tokens: int) -> None:
        if tokens > self.length:
            raise UserError(f'{Part(type(self)).name}: {tokens} tokens exceed the length of {self.length}')
