# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parameter table of a model by role: count, shape, and L2 norm or, for an experiment, weight decay."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from saccade.analysis.report.figures import MeasurementReport, Table
from saccade.layer_paths import IN_A_STACK
from saccade.train.experiment import Experiment
from saccade.train.initial import kept, param_shapes
from saccade.train.optimizer import Optimizer, path_of
from saccade.train.plan import role_of
from saccade.train.trained import params_of
from saccade.types import Params


@dataclass(frozen=True)
class ParameterShape:
    """Parameter of one shape, in one or several layers.

    Attributes:
        role: its role, as counted in the plan of a run.
        name: its path within the layer, or within the model.
        layers: number of layers that have it; 1 outside the layers.
        shape: its shape in one layer.
        norm: L2 norm over all layers; None if it has no values yet.
        decays: has weight decay; None if unknown.
    """

    role: str
    name: str
    layers: int
    shape: tuple[int, ...]
    norm: float | None
    decays: bool | None = None

    @property
    def count(self) -> int:
        """Return the number of parameters over all layers."""
        return self.layers * int(np.prod(self.shape))

    @property
    def shapes(self) -> str:
        """Return the number of layers and the shape, as text."""
        shape = str(list(self.shape)) if self.shape else '1'
        return shape if self.layers == 1 else f'{self.layers} x {shape}'


@dataclass(frozen=True)
class ParameterShare:
    """Share of the parameters.

    Attributes: count of some weights, its share of the total, and their norm.
    """

    count: int
    share: float
    norm: float | None

    @classmethod
    def of(cls, some: Sequence[ParameterShape], whole: int) -> 'ParameterShare':
        """Return the share of some weights among `whole` parameters."""
        norms = [weight.norm for weight in some if weight.norm is not None]
        count = sum(weight.count for weight in some)
        return cls(count, count / whole, float(np.linalg.norm(norms)) if norms else None)

    def words(self) -> tuple[str, str, str]:
        """Return the three as text."""
        return f'{self.count:,}', f'{self.share:.1%}', '' if self.norm is None else f'{self.norm:.4g}'


def tabulate_weights(path: str) -> MeasurementReport:
    """Report the weights of a run, or of a Hugging Face directory.

    Raises:
        UserError: the folder has neither.
    """
    return _report(path, weights(params_of(path)))


def tabulate_config(config: Mapping[str, Any], name: str) -> MeasurementReport:
    """Report the parameters of an experiment, without creating them.

    Raises:
        UserError: the config is inconsistent.
    """
    experiment = Experiment.of(config)
    return _report(name, weights(param_shapes(experiment), _decays(experiment)))


def _decays(experiment: Experiment) -> PyTree[bool] | None:
    """Mark the parameters with weight decay; None if parameters other than the model's are trained."""
    optimizer = experiment.optimizer()
    if experiment.low_rank or not isinstance(optimizer, Optimizer):
        return None
    return optimizer.decays(*kept(experiment))


def weights(params: Params, decays: PyTree[bool] | None = None) -> list[ParameterShape]:
    """Return the weights of parameters, or of their shapes; the largest role first.

    Args:
        params: the parameters, or their shapes.
        decays: marks the parameters with weight decay; None if unknown.
    """
    alike: dict[tuple[str, str, tuple[int, ...], bool | None], list[Any]] = {}
    marks = None if decays is None else dict(jax.tree_util.tree_leaves_with_path(decays))
    for keypath, leaf in jax.tree_util.tree_leaves_with_path(params):
        path = path_of(keypath)
        found = IN_A_STACK.match(path)
        name = '/'.join(filter(None, (found['tower'], found['rest']))) if found else path
        if not found:  # outside the layers: a stack of one
            abstract = isinstance(leaf, jax.ShapeDtypeStruct)
            leaf = jax.ShapeDtypeStruct((1, *leaf.shape), leaf.dtype) if abstract else leaf[None]
        mark = marks and marks[keypath]
        alike.setdefault((role_of(path), name, tuple(leaf.shape[1:]), mark), []).append(leaf)
    found = [
        ParameterShape(role, name, sum(leaf.shape[0] for leaf in leaves), shape, _norm(leaves), mark)
        for (role, name, shape, mark), leaves in alike.items()
    ]
    counts = {role: sum(each.count for each in found if each.role == role) for role in {each.role for each in found}}
    return sorted(found, key=lambda weight: (-counts[weight.role], weight.role))


def _norm(leaves: Sequence[Any]) -> float | None:
    if isinstance(leaves[0], jax.ShapeDtypeStruct):
        return None
    return float(np.sqrt(sum(np.square(np.asarray(leaf, np.float64)).sum() for leaf in leaves)))


def _report(what: str, found: Sequence[ParameterShape]) -> MeasurementReport:
    whole = sum(weight.count for weight in found)
    rows, roles, each = [], [], []
    for role, members in itertools.groupby(found, lambda weight: weight.role):
        some = list(members)
        together = ParameterShare.of(some, whole)
        roles.append({'role': role, **asdict(together)})
        rows.append((role, '', *together.words()))
        for weight in some:
            alone = ParameterShare.of([weight], whole)
            each.append({**asdict(weight), **asdict(alone)})
            count, share, norm = alone.words()
            rows.append((f'  {weight.name}', weight.shapes, count, share, norm or ('yes' if weight.decays else '')))
    last = 'L2 norm' if found[0].decays is None else 'decays'  # a config has no norms
    table = Table(f'{what}: {whole:,} parameters', ('', 'layers x shape', 'parameters', 'share', last), rows)
    return MeasurementReport(what, {'parameters': whole, 'roles': roles, 'weights': each}, (table,))
