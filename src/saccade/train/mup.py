# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""muP (maximal update parametrisation): learning rates that are optimal at one width are optimal at any.

    kernels: Adam's learning rate times fan-in at the base width / fan-in;   embeddings, head, biases, norm scales: x 1

Yang et al. 2022, "Tensor Programs V: Tuning Large Neural Networks via Zero-Shot Hyperparameter Transfer", table 8,
https://arxiv.org/abs/2203.03466. The rest of that table is set in the model's config:

    kernels start with variance 1 / inputs              kernel_init and output_init `lecun_normal`, the default
    embedding and head independent of the width         embedding_init, head_init `normal`
    logits times base width / D                         model.logit_scale
    scores over H, not sqrt(H)                          mixer.scale, 1 / sqrt(H) at the base width

`experiments/causal_lm/mup.py` sets all of them. It suits optimizers whose update does not scale with the gradient, such
as Adam.

The model at the base width is built from the same resolved config with another `model.width`; with several towers, with
another `width` of each. Derived sizes follow the width: the head width H if only `heads` are given, and the
feed-forward width F of a `ratio`. Numbers in the config are constant: heads, layers, a `head_width`, the rank of a
latent, the width of a recurrent cell. The fan-in of a kernel is the product of its contracted axes. So at the base
width every factor is 1, which is the standard parametrisation; a kernel whose fan-in does not follow the width, such as
one that reads a latent or the data, keeps its learning rate at any width. Outputs without a multiplier (classes,
routers and gates) are treated as kernels (table 3, output weights).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
from jaxtyping import PyTree

from saccade.axes import AxesByPath, KernelAxes
from saccade.train.optimizer import AtWidth, each_leaf, path_of
from saccade.types import Count, Params, UserError

__all__ = ['MuP']

_WHERE = 'optimizer.rates: train.mup:MuP'


@dataclass(frozen=True)
class MuP:
    """muP: multiply the learning rate of every kernel by its fan-in at the base width over its fan-in.

    Weight decay is not multiplied: the fraction per step is independent of the width, as in the authors' package.

    Attributes: base_width, the D at which the learning rates were tuned.
    """

    base_width: Count
    of_decay: ClassVar[bool] = False

    def __call__(self, params: Params, axes: AxesByPath, at_width: AtWidth | None = None) -> PyTree:
        """Return the ratio of fan-ins for kernels, 1 for all other parameters.

        Raises:
            UserError: the model cannot be built at it with the same parameters.
        """
        if at_width is None:
            raise UserError(f'{_WHERE} compares a model with the one at the base width, which needs a config')
        try:
            base = at_width(self.base_width)
        except UserError as error:
            raise UserError(f'{_WHERE}: at base_width={self.base_width}: {error}') from error
        shapes = {path_of(path): leaf.shape for path, leaf in jax.tree_util.tree_leaves_with_path(base)}

        def factor(path: str, leaf: Any) -> float:
            kernel = KernelAxes.of(axes.get(path))
            if kernel is None or 'V' in kernel.made:
                return 1.0
            if path not in shapes:
                raise UserError(f'{_WHERE}: at base_width={self.base_width} the model has no parameter {path}')
            first, count = len(kernel.copies), len(kernel.contracted)
            base_inputs, inputs = (math.prod(of[first : first + count]) for of in (shapes[path], leaf.shape))
            return base_inputs / inputs

        return each_leaf(params, factor)
