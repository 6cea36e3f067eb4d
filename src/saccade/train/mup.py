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

`experiments/causal_lm/mup.py` has them all. At the base width it is the standard parametrisation, of a model of one
width. Depth, and ratios such as F / D, are to stay; it is meant for rules whose update does not grow with the gradient,
as Adam's.

A kernel is what contracts an axis that grows with the width: D, N, K, H or F. Outputs without a multiplier of theirs,
as of classes, routers and gates, are kernels too: their rate falls with their inputs (table 3, output weights). What
contracts another axis is none: the rank R of a latent is a number of its own, the features X of frames are the data's.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import PyTree

from saccade.axes import AxesByPath, KernelAxes, letters_of
from saccade.train.optimizer import each_leaf
from saccade.types import Count, Params, UserError

_GROWING = frozenset('DNKHF')


@dataclass(frozen=True)
class MuP:
    """muP: divide the learning rate of every kernel by how much its inputs have grown from the base width.

    Weight decay is not divided: the fraction taken off a step is the same at any width, as in the authors' package.

    Attributes: base_width, D at which the rates were found.
    """

    base_width: Count
    of_decay: ClassVar[bool] = False

    def __call__(self, params: Params, axes: AxesByPath) -> PyTree:
        """Return base width / D for kernels, 1 for all else.

        Raises:
            UserError: the base width is not positive.
        """
        if self.base_width < 1:
            raise UserError(f'optimizer.rates: MuP.base_width must be at least 1, not {self.base_width}')
        return each_leaf(params, lambda path, leaf: self._factor(axes.get(path), leaf))

    def _factor(self, axes: str | None, leaf: Any) -> float:
        kernel = KernelAxes.of(axes)
        if kernel is None or 'V' in kernel.made or not _GROWING & set(kernel.contracted):
            return 1.0
        widths = [size for letter, size in zip(letters_of(axes), leaf.shape, strict=True) if letter == 'D']
        # The width that it makes, if it makes one: taps of a convolution contract several tokens side by side.
        return self.base_width / widths[-1] if widths else 1.0
