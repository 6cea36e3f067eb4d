# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""QK-clip: after each step, heads whose largest score was above a threshold get smaller queries and keys.

    c_n = min(1, threshold / largest_n);    Wq_n <- sqrt(c_n) Wq_n,    Wk_n <- sqrt(c_n) Wk_n

    config.optimizer.projection = dict(use='train.qk_clip:QKClip', threshold=100.0)
    config.model.block.mixer.kernel = dict(use='attention.largest_scores:LargestScores')

Kimi Team 2025, "Kimi K2: Open Agentic Intelligence", algorithm 1, https://arxiv.org/abs/2507.20534, there with Muon:
MuonClip. Where heads share keys, as rotated keys in latent attention, the keys stay and the queries take all of c_n;
the paper has this for latent attention, ours also for grouped queries. Biases are scaled as their kernels. Scores must
be linear in queries and keys: a norm of these bounds the scores by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.attention.largest_scores import RECORD
from saccade.axes import AxesByPath
from saccade.train.optimizer import each_leaf, path_of
from saccade.types import Params, Positive, UserError

__all__ = ['QKClip']


@dataclass(frozen=True)
class QKClip:
    """Projection of the queries and keys of heads with large scores.

    Attributes:
        threshold: score from which a head is clipped; 100 in the paper.
    """

    threshold: Positive = 100.0

    def __call__(self, params: Params, axes: AxesByPath) -> Params:
        """Return the parameters with the queries and keys of clipped heads scaled.

        Raises:
            UserError: no layer records its largest scores, or one that does has no queries and keys to scale: they are
                normalised, frozen, or of another kind.
        """
        leaves = {path_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(params)}
        records = {
            path.removesuffix(f'kernel/{RECORD}'): leaf for path, leaf in leaves.items() if path.endswith(RECORD)
        }
        if not records:
            raise UserError(
                'optimizer.projection: train.qk_clip:QKClip finds no record of scores; give the mixers of the model '
                "kernel = {'use': 'attention.largest_scores:LargestScores'}"
            )
        factors: dict[str, Array] = {}
        for mixer, largest in records.items():
            factors |= _factors(mixer, leaves, jnp.minimum(1.0, self.threshold / jnp.maximum(largest, self.threshold)))
        return each_leaf(params, lambda path, leaf: _scaled(leaf, factors.get(path)))


def _factors(mixer: str, leaves: Mapping[str, Any], clip: Float[Array, '*layers N']) -> dict[str, Array]:
    """Return factors, *layers N H, of the queries and keys of a mixer, by path.

    Args:
        mixer: its path, with a slash at its end.
        leaves: parameters by path.
    """
    query, key = (leaves.get(mixer + name) for name in ('query', 'key'))
    heads = clip.shape[-1]
    normalised = any(path.startswith(f'{mixer}key_norm/') for path in leaves)
    if query is None or key is None or query.shape[-2] != heads or normalised:
        raise UserError(
            f'optimizer.projection: train.qk_clip:QKClip cannot scale the scores of {mixer[:-1]}: it needs trained '
            "projections 'query' and 'key' of each head, which no norm follows"
        )
    own = key.shape[-1] if key.shape[-2] == heads else 0  # features of a query whose keys no other head has
    of_query = jnp.where(jnp.arange(query.shape[-1]) < own, jnp.sqrt(clip)[..., None], clip[..., None])
    of_key = jnp.broadcast_to(jnp.sqrt(clip)[..., None], (*clip.shape, own))
    found = {'query': of_query, 'query_bias': of_query} | ({'key': of_key, 'key_bias': of_key} if own else {})
    return {mixer + name: factor for name, factor in found.items() if mixer + name in leaves}


def _scaled(leaf: Array, factor: Float[Array, '*layers N H'] | None) -> Array:
    if factor is None:
        return leaf
    between = tuple(range(factor.ndim - 2, leaf.ndim - 2))  # of a kernel, its contracted axis
    return leaf * jnp.expand_dims(factor, between).astype(leaf.dtype)
