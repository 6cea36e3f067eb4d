# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Learning-rate factors by parameter, for `rates` of the optimizer.

    --config.optimizer.rates="[{'use': 'train.rates:LayerWise', 'decay': 0.8},
                               {'use': 'train.rates:Frozen', 'match': '^embedding$'}]"

Several are multiplied. Any function from parameters to their factors serves.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np
from jaxtyping import PyTree

from saccade.axes import AxesByPath
from saccade.layer_paths import IN_A_STACK, layer_numbers
from saccade.nearest import listed
from saccade.train.optimizer import AtWidth, each_leaf, finds
from saccade.types import Params, Range, UserError

__all__ = ['Frozen', 'LayerWise']

_MATCH = 'optimizer.rates: Frozen.match'


@dataclass(frozen=True)
class LayerWise:
    """Layer-wise learning-rate decay: the factor decay^(L + 1 - l) for layer l = 1, ..., L.

    Clark et al. 2020, "ELECTRA", https://arxiv.org/abs/2003.10555 (decays of 0.8 and 0.9); a rate for each layer:
    Howard, Ruder 2018, "Universal Language Model Fine-tuning for Text Classification", https://arxiv.org/abs/1801.06146
    Parameters below the layers have l = 0, those above l = L + 1. Each of several stacks counts its own layers, and
    parameters below them count the layers of the deepest.

    Attributes:
        decay: factor from a layer to the one below it.
        below: a regex; parameters outside the layers with a match in their path are below them: the norm and the
            projection of the embeddings too, as in the authors' code. (Axes do not tell these from a norm or a head
            above.)
    """

    decay: Annotated[float, Range(above=0, most=1)]
    below: str = r'(^|/)(embed|embedding|position|types|shared)(_|/|$)'
    of_decay: ClassVar[bool] = True

    def __call__(self, params: Params, axes: AxesByPath, at_width: AtWidth | None = None) -> PyTree:
        numbers = layer_numbers(params)
        highest = {tower: max(max(of) for of in names.values()) for tower, names in numbers.items()}
        deepest = max(highest.values(), default=0)

        def factor(path: str, leaf: Any) -> Any:
            found = IN_A_STACK.match(path)
            if not found:
                return self.decay ** (deepest + 1) if re.search(self.below, path) else 1.0
            number = np.array(numbers[found['tower']][found['group']])
            depth = highest[found['tower']] + 1.0 - number
            return self.decay ** depth.reshape(-1, *(1,) * (leaf.ndim - 1))

        return each_leaf(params, factor)


@dataclass(frozen=True)
class Frozen:
    """Frozen parameters: no update and no weight decay.

    A running statistic with a match is frozen too, as in Keras: a frozen part stays the same function. (In PyTorch such
    statistics move until the part is set to evaluation.) LoRA lets the statistics of its frozen weights move.

    Attributes:
        match: a regex; parameters with a match in their path, 'layers/pattern_0/mixer/query', are frozen.
    """

    match: str
    of_decay: ClassVar[bool] = True

    def __call__(self, params: Params, axes: AxesByPath, at_width: AtWidth | None = None) -> PyTree:
        """Return 0 for frozen parameters, 1 for others.

        Raises:
            UserError: `match` is not a regex, or matches no parameter.
        """
        found = each_leaf(params, lambda path, leaf: finds(self.match, path, _MATCH))
        if not any(jax.tree.leaves(found)):
            paths = jax.tree.leaves(each_leaf(params, lambda path, leaf: path))
            raise UserError(f"{_MATCH}: '{self.match}' finds none of {listed(paths, self.match)}")
        return jax.tree.map(lambda frozen: float(not frozen), found)
