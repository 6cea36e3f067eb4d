# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sequence parallelism: the tokens of a row are split along the mesh's axis `sequence`, layer by layer.

Li et al. 2021, "Sequence Parallelism: Long Sequence Training from System Perspective", https://arxiv.org/abs/2105.13120
Operations on each token separately (norms, feed-forward, losses) then cost a device T/n tokens in time and memory:
XLA's partitioner follows the shardings of the input and the output of each layer. Operations that move information
between tokens do so as their kernel defines (`attention.ring`, `attention.ulysses`), and otherwise gather whole rows.

Batches are not split this way: token ids are small compared with activations, and a row of a language model has one
token more than its layers have. Modules are unaware of it: the runner that applies a model's layers is wrapped.
"""

from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import NamedSharding
from jaxtyping import PyTree

from saccade.train.mesh import AnyMesh, devices_of
from saccade.types import Hidden, Part, Runner, UserError


@dataclass(frozen=True)
class SplitTokens:
    """Sequence parallelism: a runner whose layers take and return tokens that are split over the mesh.

    Attributes:
        run: wrapped runner.
        mesh: over which tokens are split.
    """

    run: Part[Runner]
    mesh: AnyMesh

    def __call__(self, layer: Any, stacked: PyTree, carry: PyTree) -> tuple[PyTree, PyTree]:
        def split(carry: PyTree, this: PyTree) -> tuple[PyTree, PyTree]:
            x, handed = carry
            (x, handed), report = layer((self._laid(x), handed), this)
            return (self._laid(x), handed), report

        return self.run()(split, stacked, carry)

    def _laid(self, x: Hidden) -> Hidden:
        if x.shape[1] % (parts := devices_of(self.mesh).parts):
            raise UserError(f'config.mesh.sequence: {parts} devices cannot share {x.shape[1]} tokens equally')
        spec = devices_of(self.mesh).spec_of('B T D', x.shape[0], 1)
        return jax.lax.with_sharding_constraint(x, NamedSharding(self.mesh, spec))


def splitting(model: Part, mesh: AnyMesh) -> Part:
    """Return the model with layers that keep the tokens of a row split over this mesh.

    A model without a stack of layers, as a recurrent one, processes whole rows on every device.
    """
    changed = {name: splitting(value, mesh) for name, value in model.arguments if isinstance(value, Part)}
    if 'run' in model.values:
        changed['run'] = Part(SplitTokens, (('mesh', mesh), ('run', model['run'])))
    return model.replace(**changed)


def splits_tokens(model: Part) -> bool:
    """Return True if a model has a stack of layers, whose tokens can be split."""
    return any('run' in part.values for part in model.walk())
