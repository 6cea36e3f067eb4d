# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""muP (maximal update parametrisation): learning rates that are best at one width are best at any.

    m = D / base width;   kernels: Adam's rate times 1 / m;   embeddings, head, biases, scales of norms: times 1

Yang et al. 2022, "Tensor Programs V: Tuning Large Neural Networks via Zero-Shot Hyperparameter Transfer", table 8,
https://arxiv.org/abs/2203.03466. The rest of that table is the model's, in its config:

    kernels start with variance 1 / inputs            kernel_init and output_init `lecun_normal`, the default
    embedding and head start alike at every width     embedding_init, head_init `normal`
    logits times 1 / m                                model.logit_scale
    scores over H, not sqrt(H)                        mixer.scale, 1 / sqrt(H) at the base width

`experiments/causal_lm/mup.py` has them all. At the base width it is the standard parametrisation. Depth, and ratios
such as F / D, are to stay; it is meant for rules whose update does not grow with the gradient, as Adam's. It cannot
know what a kernel named in KERNELS really reads: of `Latent` with a `query_rank`, queries count the rank as D.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import PyTree

from saccade.train.optimizer import KERNELS, each_leaf, named
from saccade.types import Count, Params, UserError


@dataclass(frozen=True)
class MuP:
    """muP: divide the learning rate of every kernel by how much its inputs have grown from the base width.

    Weight decay is not divided: the fraction taken off a step is the same at any width, as in the authors' package.

    Attributes:
        base_width: D at which the rates were found.
        kernels: names and axes of further parameters that are kernels; dict(compress='D -> R') in a config.
    """

    base_width: Count
    kernels: tuple[tuple[str, str], ...] = ()
    of_decay: ClassVar[bool] = False

    def __call__(self, params: Params) -> PyTree:
        """Return base width / D for kernels, 1 for all else.

        Raises:
            UserError: the base width is not positive, or the axes of a kernel do not have D once.
        """
        if self.base_width < 1:
            raise UserError(f'optimizer.rates: MuP.base_width must be at least 1, not {self.base_width}')
        widths = {name: _width_axis(name, letters) for name, letters in {**KERNELS, **dict(self.kernels)}.items()}

        def factor(path: str, leaf: Any) -> float:
            name = named(widths, path)
            return 1.0 if name is None else self.base_width / leaf.shape[widths[name]]

        return each_leaf(params, factor)


def _width_axis(name: str, letters: str) -> int:
    """Which axis of a kernel is D, from the last."""
    axes = letters.replace('->', ' ').split()
    if axes.count('D') != 1 or '->' not in letters:
        raise UserError(f"optimizer.rates: MuP.kernels.{name}: write axes with one D, as in 'D -> R', not '{letters}'")
    return axes.index('D') - len(axes)
