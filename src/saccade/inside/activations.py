# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Activations of a model by name, and what it computes when some of them are edited.

    layers.3.residual_after             decoder.layers.3.cross.pattern
    encoder.layers.0.mixer.query        layers.0.pass_2.mixer.heads
    encoder.layers.0.backward.state     decoder.layers.0.forget_gate

A name is the path of a module with the name of a tap (`Module.tap`), without the step of a kernel or a cell. Layers
count from 0, across the groups of a stack; a repeated pass through the same layers is `.pass_2`. A last number is a
head: `layers.3.mixer.heads.2`. `*` stands for anything: `layers.*.mixer.pattern`. The names of TransformerLens for the
same values, as `blocks.3.attn.hook_pattern`, are understood too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import numpy as np
from flax.core.scope import DenyList
from jaxtyping import PyTree

from saccade.layer_paths import IN_A_STACK, layer_numbers
from saccade.nearest import nearest
from saccade.taps import EDITS, Tapped
from saccade.train.device_memory import device_limit
from saccade.types import Params, UserError

HEADS = ('N', 'K')  # letters of the axis of heads
_LENS = {
    'hook_resid_pre': 'residual_before', 'hook_resid_mid': 'residual_after_mixer', 'hook_resid_post': 'residual_after',
    'hook_attn_out': 'mixer_output', 'hook_mlp_out': 'feedforward_output', 'attn.hook_q': 'mixer.query',
    'attn.hook_k': 'mixer.key', 'attn.hook_v': 'mixer.value', 'attn.hook_z': 'mixer.heads',
    'attn.hook_attn_scores': 'mixer.scores', 'attn.hook_pattern': 'mixer.pattern',
    'mlp.hook_post': 'feedforward.hidden',
}  # fmt: skip


class Place(NamedTuple):
    """Place of an activation in what a model stores.

    Attributes:
        collection: name of the tap.
        path: names of the modules.
        within: path in a value that is a pytree; '' for an array.
        index: place on the leading axis over layers, of `stacked`; None outside a stack.
        axes, editable, note: as in `taps.Tapped`.
        shape, dtype: without the leading axis.
    """

    collection: str
    path: tuple[str, ...]
    within: str
    index: int | None
    stacked: int | None
    axes: str
    editable: bool
    note: str
    shape: tuple[int, ...]
    dtype: Any

    def axis(self, letters: Iterable[str]) -> int | None:
        """Return the first axis with one of these letters; None if there is none."""
        return next((at for at, letter in enumerate(self.axes.split()) if letter in letters), None)

    def read(self, found: Mapping[str, PyTree]) -> Any:
        """Return the activation from what a model stored."""
        node = found[self.collection]
        for name in (*self.path, self.collection):
            node = node[name]
        values = jax.tree_util.tree_leaves_with_path(node.value)
        (leaf,) = (leaf for path, leaf in values if _within(path) == self.within)
        return leaf if self.index is None else leaf[self.index]


@dataclass(frozen=True, eq=False)
class Activations(Mapping[str, np.ndarray]):
    """Activations by name.

    Attributes:
        values: arrays by full name.
        places: their places, with axes and notes.
    """

    values_by_name: Mapping[str, np.ndarray]
    places: Mapping[str, Place]

    def __getitem__(self, name: str) -> np.ndarray:
        ((full, head),) = resolve(name, self.places) if '*' not in name else _refuse_pattern(name)
        value = self.values_by_name[full]
        return value if head is None else np.take(value, head, self.places[full].axis(HEADS))

    def __contains__(self, name: object) -> bool:
        try:
            return self[name] is not None
        except UserError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    @property
    def notes(self) -> dict[str, str]:
        """Notes on activations that were computed otherwise than the model does, by name."""
        return {name: place.note for name, place in self.places.items() if place.note}


@dataclass(frozen=True, eq=False)
class Inside:
    """A model on given inputs.

    Attributes: model; params; arguments of its `apply`, without variables; method to apply, None for `__call__`.
    """

    model: Any
    params: Params
    arguments: tuple[Any, ...]
    method: str | None = None

    @cached_property
    def places(self) -> dict[str, Place]:
        """Places of all activations by name, in the order of the forward pass of a stack."""
        everything = DenyList(('params', EDITS))

        def run(params: Params) -> PyTree:
            return self.model.apply({'params': params}, *self.arguments, mutable=everything, method=self.method)[1]

        return dict(_places(jax.eval_shape(run, self.params), self.params))

    def run(self, names: str | Iterable[str] = (), edits: PyTree = None) -> tuple[Any, Activations]:
        """Return the model's output, and the activations of these names.

        Args:
            edits: edits of activations, as `interventions.edits_of` makes them.

        Raises:
            UserError: a name is unknown, or the activations exceed the memory of the device.
        """
        given = (names,) if isinstance(names, str) else tuple(names)
        chosen = {full: self.places[full] for name in given for full, _ in resolve(name, self.places)}
        _require_memory(chosen.values())
        placed = tuple(chosen.values())
        output, values = _run(self.model, placed, self.method, self.params, edits or {}, self.arguments)
        return output, Activations(dict(zip(chosen, jax.device_get(values), strict=True)), chosen)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _run(
    model: Any, places: tuple[Place, ...], method: str | None, params: Params, edits: PyTree, arguments: Any
) -> tuple[Any, tuple[Any, ...]]:
    collections = sorted({place.collection for place in places})
    variables = {'params': params, EDITS: edits}
    output, found = model.apply(variables, *arguments, mutable=collections, method=method)
    return output, tuple(place.read(found) for place in places)


def resolve(name: str, places: Mapping[str, Place]) -> list[tuple[str, int | None]]:
    """Return the full names that a name matches, with the number of a head where the name ends in one.

    Raises:
        UserError: there is no such activation or head; the message has the nearest names.
    """
    wanted = _ours(name)
    if found := [(full, None) for full in places if full == wanted or fnmatchcase(full, wanted)]:
        return found
    base, _, last = wanted.rpartition('.')
    of_heads = [full for full in places if fnmatchcase(full, base)] if last.isdigit() else []
    if not of_heads:
        near = nearest(wanted, places)
        raise UserError(f"there is no activation '{name}' in this model{near}")
    for full in of_heads:
        axis = places[full].axis(HEADS)
        count = 0 if axis is None else places[full].shape[axis]
        if int(last) >= count:
            there = f'heads 0 to {count - 1}' if count else 'no heads'
            raise UserError(f'there is no head {last} in {full}, which has {there}')
    return [(full, int(last)) for full in of_heads]


def _ours(name: str) -> str:
    """Return our name for a name of TransformerLens; other names unchanged."""
    if name == 'ln_final.hook_normalized':
        return 'final_norm'
    theirs = re.fullmatch(r'blocks\.(\d+|\*)\.(.+?)(\.\d+)?', name)
    if theirs is None or theirs[2] not in _LENS:
        return name
    return f'layers.{theirs[1]}.{_LENS[theirs[2]]}{theirs[3] or ""}'


def _refuse_pattern(name: str) -> Any:
    raise UserError(f"'{name}' can match several activations: give one name")


def _places(found: PyTree, params: Params) -> Iterator[tuple[str, Place]]:
    """Yield the name and the place of each activation in what a model stored, or its shapes."""
    numbers = layer_numbers(params)
    leaves = jax.tree_util.tree_leaves_with_path(found, is_leaf=lambda node: isinstance(node, Tapped))
    named = []
    for keys, tapped in leaves:
        if isinstance(tapped, Tapped):
            collection, *path, _ = (entry.key for entry in keys)
            named += _of_tap(collection, path, tapped, numbers)
    yield from ((name, place) for _, name, place in sorted(named, key=lambda each: each[0]))


def _of_tap(
    collection: str, path: list[str], tapped: Tapped, numbers: Mapping[str | None, Mapping[str, tuple[int, ...]]]
) -> Iterator[tuple[tuple[int, int], str, Place]]:
    """Yield the tower and layer, to sort by, with the name and the place."""
    at = IN_A_STACK.match('/'.join((*path, collection)))
    steps = (at['rest'].split('/') if at else [*path, collection]) if path else [collection]
    rest = '.'.join(step for step in steps if step not in ('kernel', 'cell'))
    rest = re.sub(r'(layers\.)?layer_(\d+)[_.]', r'layers.\2.', rest)  # a recurrent encoder's and decoder's
    for keys, leaf in jax.tree_util.tree_leaves_with_path(tapped.value):
        within = _within(keys)
        ending = f'{rest}.{within}' if within else rest
        common = tapped.axes, tapped.editable and not within, tapped.note
        if at is None:
            yield (-1, -1), ending, Place(collection, tuple(path), within, None, None, *common, leaf.shape, leaf.dtype)
            continue
        layers = numbers[at['tower']][at['group']]
        for index in range(leaf.shape[0]):
            turn, repeat = divmod(index, len(layers))
            number = layers[repeat] - 1
            steps = (at['tower'], 'layers', str(number), f'pass_{turn + 1}' if turn else None, ending)
            name = '.'.join(filter(None, steps)).replace('/', '.')
            shape = leaf.shape[1:]
            yield (
                (list(numbers).index(at['tower']), number),
                name,
                Place(collection, tuple(path), within, index, leaf.shape[0], *common, shape, leaf.dtype),
            )


def _within(keys: tuple[Any, ...]) -> str:
    return jax.tree_util.keystr(keys, simple=True, separator='.')


def _require_memory(places: Iterable[Place]) -> None:
    """Check that activations fit in the memory of a device.

    Raises:
        UserError: they do not.
    """
    size = sum(int(np.prod(place.shape)) * np.dtype(place.dtype).itemsize for place in places)
    limit = device_limit()
    if limit is not None and size > limit:
        raise UserError(
            f'these activations are {size / 2**30:.1f} GiB, and the device has {limit / 2**30:.1f} GiB: choose fewer '
            "by names, as 'layers.3.*'"
        )
