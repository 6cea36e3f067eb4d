# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layers by name and number: parameter paths of a layer, and values that layers pass to later layers.

A stack has its layers in groups: `first_0`, `first_1` ... occur once, then `pattern_0`, `pattern_1` ... in turn, as
often as they are repeated, then `last_0` ... once. The leading axis of a parameter counts the repeats.

A part of a layer passes a value on by `hand_on(self, 'values', v)`, and a part of a later layer reads it by
`earlier(context, 'values', v)`. The class of the first declares the names: `hands_on = ('values',)`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct
from flax.traverse_util import flatten_dict
from jaxtyping import Array, Bool, Float, PyTree

from saccade.types import Hidden, LayerContext, Part, UserError

HANDED = 'handed'  # the Linen collection
_GROUPS = ('first', 'pattern', 'last')
_GROUP = re.compile(r'(first|pattern|last)_(\d+)')
IN_A_STACK = re.compile(r'(?:(?P<tower>.*?)/)?layers/(?P<group>(?:first|pattern|last)_\d+)/(?P<rest>.*)')


def is_group(name: str) -> bool:
    """True if this is the name of a layer group, whose parameters have a leading axis of repeats."""
    return _GROUP.fullmatch(name) is not None


def in_order(repeats: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield (group name, repeat) of each layer of a stack, first to last, from the number of repeats by group name."""
    for group in _GROUPS:
        names = [name for name in repeats if name.startswith(f'{group}_')]
        names.sort(key=_place)
        for repeat in range(repeats[names[0]] if names else 0):
            yield from ((name, repeat) for name in names)


def numbers(repeats: Mapping[str, int]) -> dict[str, range]:
    """Return the layer numbers (from 0) of each group of a stack, from the number of repeats by group name."""
    found, start = {}, 0
    for group in _GROUPS:
        names = sorted((name for name in repeats if name.startswith(f'{group}_')), key=_place)
        stop = start + sum(repeats[name] for name in names)
        found |= {name: range(start + place, stop, len(names)) for place, name in enumerate(names)}
        start = stop
    return found


def layer_numbers(tree: PyTree) -> dict[str | None, dict[str, tuple[int, ...]]]:
    """Return the layer numbers (from 1) that are stacked in the leaves of each group, by tower and group name.

    Args:
        tree: parameters, or reports of layers, by parameter path. The tower is None in a model with one stack.
    """
    repeats: dict[str | None, dict[str, int]] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if found := IN_A_STACK.match(jax.tree_util.keystr(path, simple=True, separator='/')):
            repeats.setdefault(found['tower'], {})[found['group']] = leaf.shape[0]
    return {
        tower: {name: tuple(number + 1 for number in layers) for name, layers in numbers(names).items()}
        for tower, names in repeats.items()
    }


def _place(group: str) -> int:
    return int(group.rpartition('_')[2])


def hand_on(module: nn.Module, name: str, value: PyTree) -> None:
    """Pass a value to later layers under a name. The newest value replaces an earlier one of the same name.

    Raises:
        UserError: the class of the module does not declare the name.
    """
    if name not in getattr(module, 'hands_on', ()):
        raise UserError(f"{Part(type(module)).name} hands on '{name}' and must declare it: hands_on = ('{name}',)")
    if module.is_mutable_collection(HANDED):
        module.put_variable(HANDED, name, value)


def hands_on(parts: Iterable[Part]) -> bool:
    """True if a part, or a part within one, declares that it passes values on."""
    return any(getattr(inner.target, 'hands_on', ()) for part in parts for inner in part.walk())


def handed_on(report: Mapping[str, PyTree]) -> dict[str, PyTree]:
    """Return the values that the parts of a layer passed on, by name, each with a flag that is True where it exists."""
    found = flatten_dict(report.get(HANDED, {}))
    return {path[-1]: (jnp.array(True), value) for path, value in found.items()}


def earlier(context: LayerContext, name: str, own: PyTree) -> PyTree:
    """Return the latest value that an earlier layer passed on under a name; `own` if there is none."""
    if name not in context.handed:
        return own
    there, value = context.handed[name]
    return jax.tree.map(lambda value, own: jnp.where(there, value, own), value, own)


@struct.dataclass
class Depth:
    """Outputs of all layers so far, for layers that read all of them. Place 0 is the input of the first such layer.

    Attributes:
        made: outputs by place, zeros in empty places; layers number r, from 0, to r + size - 1 have place r / size + 1.
        there: True for filled places.
        size: number of layers whose outputs are summed in one place.
    """

    made: Float[Array, 'L B T D']
    there: Bool[Array, ' L']
    size: int = struct.field(pytree_node=False, default=1)

    @classmethod
    def of(cls, context: LayerContext, name: str, x: Hidden, size: int = 1) -> 'Depth':
        """Return the outputs that earlier layers passed on under a name; only x if there are none.

        Raises:
            UserError: earlier layers sum another number of layers.
        """
        places = 1 - (-(context.layers or 1) // size)
        own = cls(jnp.zeros((places, *x.shape), x.dtype), jnp.zeros(places, bool), size)
        _, given = context.handed.get(name, (None, own))
        if given.size != size:
            raise UserError(f"'{name}' is a sum over {given.size} layers in earlier layers, over {size} here")
        return earlier(context, name, own.put(_number(context) // size, x))

    def put(self, place: Array | int, x: Hidden) -> 'Depth':
        """Return a copy with x added in a place."""
        return self.replace(
            made=self.made.at[place].add(x.astype(self.made.dtype)), there=self.there.at[place].set(True)
        )

    def add(self, context: LayerContext, x: Hidden) -> 'Depth':
        """Return a copy with the output x of this layer, or of a branch of it, added in the layer's place."""
        return self.put(_number(context) // self.size + 1, x)

    def back(self, context: LayerContext) -> 'Depth':
        """Return a copy ordered by distance: the output of this layer first, then the outputs of earlier layers."""
        place = _number(context) // self.size + 1 - jnp.arange(self.there.shape[0])
        return self.replace(made=self.made[place], there=self.there[place] & (place >= 0))


def _number(context: LayerContext) -> Array | int:
    return 0 if context.layer is None else context.layer
