# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""LoRA: train low-rank updates of frozen kernels.

    W' = W + (alpha / r) A B        W [D F]; A [D r] initially normal with variance 1 / D; B [r F] initially zero

Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1, https://arxiv.org/abs/2106.09685
(transposed). Other untrained parameters are frozen, except running statistics, which follow the data as without LoRA
(`saccade.ops.statistic`). W' is computed before the forward pass, where the paper adds x A B to x W: so no part of a
model is changed, but a step takes as long as one that trains W, and A's input cannot have separate dropout. Cost:
r (D + F) trained parameters, and moments for these, instead of D F.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax
from flax.traverse_util import flatten_dict, unflatten_dict
from jaxtyping import Array

from saccade.axes import AxesByPath, KernelAxes, declaration
from saccade.nearest import listed
from saccade.ops.statistic import is_statistic
from saccade.train.adapter import MakeOptimizer
from saccade.train.optimizer import each_leaf, finds
from saccade.types import Count, Params, Positive, PRNGKey, UserError

__all__ = ['LowRank']

BESIDE = 'low_rank'  # key of A and B next to the model's parameters, each at the path of its kernel


@dataclass(frozen=True)
class LowRank:
    """LoRA.

    Attributes:
    rank: r.
    alpha: constant factor of the updates, so that the learning rate is independent of r.
    match: regular expression; hidden kernels whose path matches ('layers/pattern_0/mixer/query') get an update. As for
        Muon, the axes determine the hidden kernels: embeddings, output layers and routers are not. By default, all
        layers.
    also: regular expression; other parameters whose path matches are trained directly, such as new heads.
    """

    rank: Count
    alpha: Positive
    match: str = r'(^|/)layers/'
    also: str = r'_head/'

    def init(self, key: PRNGKey, params: Params, axes: AxesByPath) -> Params:
        """Add A and B of each kernel to the model's parameters.

        Raises:
            UserError: `match` matches no kernel, or a regular expression is invalid.
        """
        shapes = self._shapes(params, axes)
        keys = jax.random.split(key, len(shapes))
        pairs = {path: self._pair(own, *shape) for own, (path, shape) in zip(keys, shapes.items(), strict=True)}
        return {**params, BESIDE: unflatten_dict(pairs, sep='/')}

    def merged(self, params: Params) -> Params:
        """Return the model's parameters, with W + (alpha / r) A B for each kernel with an update."""
        pairs = flatten_dict(params[BESIDE], sep='/')

        def weight(path: str, leaf: Array) -> Array:
            if self._is_trained(path):
                return leaf
            leaf = jax.lax.stop_gradient(leaf)
            if f'{path}/A' not in pairs:
                return leaf
            product = jnp.einsum('...DR,...RF->...DF', pairs[f'{path}/A'], pairs[f'{path}/B'])
            return leaf + self.alpha / self.rank * product.reshape(leaf.shape)

        return each_leaf({name: tree for name, tree in params.items() if name != BESIDE}, weight)

    def updates(self, params: Params, axes: AxesByPath) -> dict[str, tuple[Array, Array, int]]:
        """Return A, B and the number of input axes of each kernel with an update, by its path.

        Args:
            params: of the run, A and B included.
            axes: declared axes of the model's parameters.
        """
        pairs, kernels = flatten_dict(params[BESIDE], sep='/'), _hidden(axes)
        paths = sorted(path.removesuffix('/A') for path in pairs if path.endswith('/A'))
        return {path: (pairs[f'{path}/A'], pairs[f'{path}/B'], len(kernels[path].contracted)) for path in paths}

    def whole(self, params: Params) -> dict[str, Array]:
        """Return the parameters that are trained directly, by path."""
        return {
            path: leaf
            for path, leaf in flatten_dict(params, sep='/').items()
            if self._is_whole(path) and not _is_update(path)
        }

    def optimizer(self, make: MakeOptimizer, params: Params) -> optax.GradientTransformation:
        """Return the transformation of A, B, statistics and parameters that match `also`; all others are frozen."""
        trained = each_leaf(params, lambda path, _: self._is_trained(path))
        shown = jax.tree.map(lambda leaf, trained: leaf if trained else optax.MaskedNode(), params, trained)
        kinds = jax.tree.map(lambda trained: 'trained' if trained else 'frozen', trained)
        return optax.partition({'trained': make(shown), 'frozen': optax.set_to_zero()}, kinds)

    def axes(self, declared: AxesByPath) -> AxesByPath:
        """Return the axes of the model's parameters, and of A and B of each hidden kernel."""
        pairs = {
            f'{BESIDE}/{path}/{name}': own
            for path, kernel in _hidden(declared).items()
            for name, own in _pair_axes(kernel).items()
        }
        return {**declared, **pairs}

    def lines(self, params: Params) -> list[str]:
        """Return a line with the number of trained parameters and the updated kernels."""
        leaves = flatten_dict(params, sep='/')
        trained = {path: leaf for path, leaf in leaves.items() if self._is_trained(path) and not is_statistic(path)}
        updated = sorted({'/'.join(path.split('/')[-3:-1]) for path in trained if _is_update(path)})
        whole = [path for path in trained if not _is_update(path)]
        count = sum(math.prod(leaf.shape) for leaf in trained.values())
        return [
            f'trained     {count:,} of these: updates of rank {self.rank} of {", ".join(updated)}'
            f'{"; and " if whole else ""}{", ".join(whole)}'
        ]

    def _shapes(self, params: Params, axes: AxesByPath) -> dict[str, tuple[tuple[int, ...], int, int]]:
        """Return, by path of each updated kernel, its copies (layers or experts), its D and its F."""
        leaves, kernels = flatten_dict(params, sep='/'), _hidden(axes)
        shapes = {
            path: _matrix(leaf.shape, kernels[path])
            for path, leaf in leaves.items()
            if path in kernels and finds(self.match, path, 'low_rank.match') and not self._is_whole(path)
        }
        if not shapes:
            raise UserError(f"low_rank.match: '{self.match}' finds none of the hidden kernels {listed(kernels)}")
        return shapes

    def _pair(self, key: PRNGKey, stack: tuple[int, ...], D: int, F: int) -> dict[str, Array]:
        return {
            'A': jax.random.normal(key, (*stack, D, self.rank)) / math.sqrt(D),
            'B': jnp.zeros((*stack, self.rank, F)),
        }

    def _is_trained(self, path: str) -> bool:
        return _is_update(path) or is_statistic(path) or self._is_whole(path)

    def _is_whole(self, path: str) -> bool:
        return finds(self.also, path, 'low_rank.also')


def _is_update(path: str) -> bool:
    return path.startswith(f'{BESIDE}/')


def _hidden(axes: AxesByPath) -> dict[str, KernelAxes]:
    """Return the axes of each hidden kernel, by path."""
    kernels = {path: KernelAxes.of(letters) for path, letters in axes.items()}
    return {path: kernel for path, kernel in kernels.items() if kernel is not None and kernel.is_hidden}


def _pair_axes(kernel: KernelAxes) -> dict[str, str]:
    """Return the axes of A and B of a kernel; several merged axes have the letter of the first.

    They have no arrow, since neither factor is a kernel for Muon or muP. They decay like one.
    """
    return {
        'A': declaration(' '.join([*kernel.copies, kernel.contracted[0], 'X']), decays=True),
        'B': declaration(' '.join([*kernel.copies, 'X', kernel.made[0]]), decays=True),
    }


def _matrix(shape: tuple[int, ...], kernel: KernelAxes) -> tuple[tuple[int, ...], int, int]:
    """Return the shape of the copies, and the numbers of rows and columns of each matrix."""
    copies = len(kernel.copies)
    inputs = copies + len(kernel.contracted)
    return shape[:copies], math.prod(shape[copies:inputs]), math.prod(shape[inputs:])
