# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Start of a training from the weights of another model: a run or a Hugging Face directory (`init_from`, `adapt`)."""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from flax.traverse_util import unflatten_dict

from saccade.axes import AxesByPath
from saccade.ops.statistic import is_record
from saccade.train.experiment import Experiment
from saccade.train.initial import by_path, kept, param_shapes, shapes_by_path
from saccade.train.trained import params_of, part_of, shapes_in
from saccade.types import Params, Part, UserError

HEADS = r'(^|/)(\w+_head/|head(_bias)?$)'  # paths of heads, and of the output layer of a language model


@dataclass(frozen=True)
class Start:
    """Initial weights for training, taken from another model.

    Attributes:
        taken, new: paths of parameters from the other model, and of those that keep their initial values.
        left: paths of parameters of the other model that were not taken.
    """

    params: Params
    taken: list[str]
    new: list[str]
    left: list[str]

    def lines(self) -> list[str]:
        """Return lines on the parameters that were loaded, newly initialised and ignored."""
        names = {'newly initialised': self.new, 'ignored': self.left}
        return [
            f'weights     {len(self.taken)} parameters loaded',
            *(f'            {kind}: {", ".join(paths)}' for kind, paths in names.items() if paths),
        ]


@dataclass(frozen=True)
class Wanted:
    """Parameter that a model expects. Attributes: shape; axes, as 'L D -> K H', None if it declares none."""

    shape: tuple[int, ...]
    axes: str | None


def start_from(where: tuple[str, str], initial: Params, axes: AxesByPath, adapt: Part[Params] | None = None) -> Start:
    """Return initial weights from a run or a Hugging Face directory.

    Args:
        where: its path; and the name of one of its models, if it has several.
        initial: the parameters as initialised; the weights of a directory are placed on the devices like them.
        axes: of these, by path.
        adapt: converts the weights: a function of them and of the `Wanted` parameters by path.

    Raises:
        UserError: the weights are of another architecture; the message names the first parameter that differs.
    """
    path, part = where
    like = {f'{part}/{name}' if part else name: leaf for name, leaf in by_path(initial).items()}
    found, asked = part_of(params_of(path, like), where), shapes_by_path(initial)
    params = _adapted(path, found, asked, axes, adapt)
    found = by_path(found)
    new = [name for name, leaf in by_path(params).items() if isinstance(leaf, jax.ShapeDtypeStruct)]
    used = set(map(id, jax.tree.leaves(params)))  # a renamed parameter is not left over
    return Start(
        jax.tree.map(lambda leaf, first: first if isinstance(leaf, jax.ShapeDtypeStruct) else leaf, params, initial),
        taken=[name for name in asked if name not in new],
        new=new,
        left=[name for name, leaf in found.items() if (name not in asked or name in new) and id(leaf) not in used],
    )


def require_architecture(experiment: Experiment) -> None:
    """Check the shapes of the weights in `init_from`, which are not read; `adapt` is traced.

    Raises:
        UserError: as of `start_from`, or `init_from` cannot be used.
    """
    path, adapt = experiment.init_from, experiment.adapt
    asked, axes = shapes_by_path(param_shapes(experiment)), kept(experiment)[1]
    found = part_of(shapes_in(path), (path, experiment.init_part))

    def trace(params: Params) -> None:
        _adapted(path, params, asked, axes, adapt)

    with contextlib.suppress(jax.errors.JAXTypeError):  # it depends on values: `start_from` checks it
        jax.eval_shape(trace, found)


def _adapted(
    path: str, params: Params, asked: Mapping[str, tuple[int, ...]], axes: AxesByPath, adapt: Part[Params] | None
) -> Params:
    """Return the parameters after `adapt`, which must have the shapes asked for."""
    if adapt is not None:
        params = adapt(params, {path: Wanted(shape, axes.get(path)) for path, shape in asked.items()})
    params = _with_records(params, asked)
    there = shapes_by_path(params)
    other = [name for name in sorted(there.keys() | asked.keys()) if there.get(name) != asked.get(name)]
    if not other:
        return params
    only_heads = all(re.search(HEADS, name) for name in other)
    way = """--config.adapt="{'use': 'train.init.partial:body'}" takes all but the heads"""
    raise UserError(
        f'config.init_from={path}: another architecture: {other[0]} is {there.get(other[0], "absent")} in it, '
        f'{asked.get(other[0], "absent")} in this model; '
        f'{way if only_heads else "--config.inherit=model takes the model from there"}'
    )


def _with_records(params: Params, asked: Mapping[str, tuple[int, ...]]) -> Params:
    """Return parameters with the records of the model that they are for, and without other records."""
    kept = {name: leaf for name, leaf in by_path(params).items() if name in asked or not is_record(name)}
    lacking = {name: shape for name, shape in asked.items() if is_record(name) and name not in kept}
    return unflatten_dict(
        kept | {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in lacking.items()}, sep='/'
    )
