# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""muP (maximal update parametrisation): learning rates that are best at one width are best at any.

    kernels: Adam's rate times fan-in at the base width / fan-in;   embeddings, head, biases, scales of norms: times 1

Yang et al. 2022, "Tensor Programs V: Tuning Large Neural Networks via Zero-Shot Hyperparameter Transfer", table 8,
https://arxiv.org/abs/2203.03466. The rest of that table is the model's, in its config:

    kernels start with variance 1 / inputs            kernel_init and output_init `lecun_normal`, the default
    embedding and head start alike at every width     embedding_init, head_init `normal`
    logits times base width / D                       model.logit_scale
    scores over H, not sqrt(H)                        mixer.scale, 1 / sqrt(H) at the base width

`experiments/causal_lm/mup.py` has them all. It is meant for rules whose update does not grow with the gradient, as
Adam's.

The model at the base width is that of the same resolved config with another `model.width`; of several towers, with
another `width` of each. What the model derives from its width follows it: the width H of a head where only `heads` are
given, the feed-forward width F of a `ratio`. What the config gives as a number stays: heads, layers, a `head_width`,
the rank of a latent, the width of a recurrent cell. The fan-in of a kernel is the size of all that it contracts. So at
the base width every factor is 1, and this is the standard parametrisation; a kernel whose fan-in does not follow the
width, as one that reads a latent or the data, keeps its rate at any width. Outputs without a multiplier of theirs, as
of classes, routers and gates, are kernels like others (table 3, output weights).
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

    Weight decay is not multiplied: the fraction taken off a step is the same at any width, as in the authors' package.

    Attributes: base_width, D at which the rates were found.
    """

    base_width: Count
    of_decay: ClassVar[bool] = False

    def __call__(self, params: Params, axes: AxesByPath, at_width: AtWidth | None = None) -> PyTree:
        """Return the ratio of fan-ins for kernels, 1 for all else.

        Raises:
            UserError: the model cannot be built at it with the same parameters.
        """
        if at_width is None:
            raise UserError(f'{_WHERE} compares a model with that of the base width, and there is no config of one')
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
