# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DeepNorm block: post-norm with an upscaled residual and downscaled branches, for stacks of hundreds of layers.

    h = norm(alpha x + mixer(x));   y = norm(alpha h + feedforward(h))

Wang et al. 2022, "DeepNet: Scaling Transformers to 1,000 Layers", figure 2, https://arxiv.org/abs/2203.00555
The kernels named in `scaled` are initialised beta times as large; query and key kernels are not. For an encoder or
decoder of L layers:
alpha = (2 L)^(1/4), beta = (8 L)^(-1/4). For an encoder of N and a decoder of M layers: 0.81 (N^4 M)^(1/16) and
0.87 (N^4 M)^(-1/16) in the encoder, (3 M)^(1/4) and (12 M)^(-1/4) in the decoder. Intended for Xavier initialisers.
It bounds the model's change in the first step at any L. With alpha = beta = 1 it is post-norm. The paper does not
cover gated layers: here a gate keeps its usual initialisation.
"""

from typing import Any, ClassVar

import jax

from saccade.block.base import SequentialBlock
from saccade.types import Hidden, Params, Positive, Real, UserError

__all__ = ['DeepNorm']


class DeepNorm(SequentialBlock):
    """DeepNorm block.

    Attributes: alpha, beta; scaled, the names of the kernels multiplied by beta.
    """

    identity: ClassVar[bool] = False
    example: ClassVar[dict] = {'alpha': 2.0, 'beta': 0.5}

    alpha: Positive
    beta: Positive
    scaled: tuple[str, ...] = ('value', 'output', 'up', 'down')

    def before(self, branch: str, x: Hidden, real: Real | None) -> Hidden:
        """Return x unchanged: the norm follows the residual addition."""
        return x

    def after(self, branch: str, x: Hidden, y: Hidden, real: Real | None) -> Hidden:
        """Return norm(alpha x + y). At initialisation the branch's `scaled` kernels are multiplied by beta."""
        if self.is_initializing():
            self.put_variable('params', branch, self._lighter(branch, self.get_variable('params', branch)))
        return self.norm_of(branch)(self.alpha * x + y, real)

    def _lighter(self, branch: str, params: Params) -> Params:
        """Multiply the kernels in `scaled` by beta.

        Raises:
            UserError: the branch has no such kernel.
        """

        def names(path: tuple[Any, ...]) -> str:
            return path[-1].key

        found = {names(path) for path, _ in jax.tree_util.tree_leaves_with_path(params)}
        if not found & {*self.scaled}:
            raise UserError(
                f'block.deep_norm:DeepNorm: the {branch} has no parameter named {" or ".join(self.scaled)}, but '
                f"{', '.join(sorted(found))}; set 'scaled' to the names of the kernels to multiply by beta"
            )
        return jax.tree_util.tree_map_with_path(
            lambda path, leaf: leaf * self.beta if names(path) in self.scaled else leaf, params
        )
