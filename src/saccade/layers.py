# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layers by name and number: where the parameters of a layer are, and what earlier layers hand on to later ones.

A stack has its layers in groups: `first_0`, `first_1` ... stand once, then `pattern_0`, `pattern_1` ... in turn as
often as they are repeated, then `last_0` ... once. The leading axis of a parameter counts the repeats.

A part of a layer hands a value on by `hand_on(self, 'values', v)`, and a part of a later layer reads it by
`earlier(context, 'values', v)`. Its class declares the names: `hands_on = ('values',)`.
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
    """Whether this is the name of a group's parameters, whose leading axis is that of layers."""
    return _GROUP.fullmatch(name) is not None


def in_order(repeats: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield name and repeat of each layer of a stack, from the first, of how often each name is repeated."""
    for group in _GROUPS:
        names = [name for name in repeats if name.startswith(f'{group}_')]
        names.sort(key=lambda name: int(name.rpartition('_')[2]))
        for repeat in range(repeats[names[0]] if names else 0):
            yield from ((name, repeat) for name in names)


def layer_numbers(tree: PyTree) -> dict[str | None, dict[str, tuple[int, ...]]]:
    """Return, by tower and by name of a group, the numbers of the layers that its leaves stack, from 1.

    Args:
        tree: of parameters, or of what layers report, by paths of parameters. A tower alone is None.
    """
    repeats: dict[str | None, dict[str, int]] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if found := IN_A_STACK.match(jax.tree_util.keystr(path, simple=True, separator='/')):
            repeats.setdefault(found['tower'], {})[found['group']] = leaf.shape[0]
    numbers: dict[str | None, dict[str, tuple[int, ...]]] = {}
    for tower, names in repeats.items():
        numbers[tower] = dict.fromkeys(names, ())
        for number, (name, _) in enumerate(in_order(names), start=1):
            numbers[tower][name] += (number,)
    return numbers


def hand_on(module: nn.Module, name: str, value: PyTree) -> None:
    """Hand a value on to later layers under a name. The newest value replaces an earlier one of the same name.

    Raises:
        UserError: the class of the module does not declare the name.
    """
    if name not in getattr(module, 'hands_on', ()):
        raise UserError(f"{Part(type(module)).name} hands on '{name}' and must declare it: hands_on = ('{name}',)")
    if module.is_mutable_collection(HANDED):
        module.put_variable(HANDED, name, value)


def hands_on(parts: Iterable[Part]) -> bool:
    """Whether a part, or a part within one, declares that it hands something on."""
    return any(getattr(inner.target, 'hands_on', ()) for part in parts for inner in part.walk())


def handed_on(report: Mapping[str, PyTree]) -> dict[str, PyTree]:
    """Return what the parts of a layer handed on, by name, each with whether it is there."""
    found = flatten_dict(report.get(HANDED, {}))
    return {path[-1]: (jnp.array(True), value) for path, value in found.items()}


def earlier(context: LayerContext, name: str, own: PyTree) -> PyTree:
    """Return what the last earlier layer that did so handed on under a name; `own` where there is none."""
    if name not in context.handed:
        return own
    there, value = context.handed[name]
    return jax.tree.map(lambda value, own: jnp.where(there, value, own), value, own)


@struct.dataclass
class Depth:
    """What each layer so far has made, for layers that read all of them: place 0 is the input of the first that does.

    Attributes:
        made: by place, zeros where there is nothing yet; layer number r, from 0, has place r + 1.
        there: whether a place holds something.
    """

    made: Float[Array, 'L B T D']
    there: Bool[Array, ' L']

    @classmethod
    def of(cls, context: LayerContext, name: str, x: Hidden) -> 'Depth':
        """Return what earlier layers handed on under a name; x alone where there is none."""
        places = 1 + (context.layers or 1)
        own = cls(jnp.zeros((places, *x.shape), x.dtype), jnp.zeros(places, bool)).put(_number(context), x)
        return earlier(context, name, own)

    def put(self, place: Array | int, x: Hidden) -> 'Depth':
        """Return it with x in a place."""
        return Depth(self.made.at[place].set(x.astype(self.made.dtype)), self.there.at[place].set(True))

    def add(self, context: LayerContext, x: Hidden) -> 'Depth':
        """Return it with what this layer has made."""
        return self.put(_number(context) + 1, x)

    def back(self, context: LayerContext) -> 'Depth':
        """Return it by distance: what this layer has made comes first, then that of the layer before."""
        place = _number(context) + 1 - jnp.arange(self.there.shape[0])
        return Depth(self.made[place], self.there[place] & (place >= 0))


def _number(context: LayerContext) -> Array | int:
    return 0 if context.layer is None else context.layer
