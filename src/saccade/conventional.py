# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Linen modules with the field's conventional parts, for models that are no experiments of ours.

    x = saccade.MultiHead(heads=4)(x)          in anybody's Linen module

What a class requires and the caller leaves out is taken from CONVENTIONAL. A part may be given as such a module: it is
turned into the factory of its class and fields, so that no two layers share an instance. Where a module is called
without a context, positions are 0 .. T-1 and a row is one document; without `train`, nothing is dropped. NumPy arrays
and lists serve as JAX arrays do. Parameters have the names and shapes that they have in an experiment.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from saccade.axes import undeclared
from saccade.build import bind, build, fields
from saccade.types import LayerContext, Part, Source, UserError

CONVENTIONAL: Mapping[str, Any] = {
    'activation': {'use': 'jax.nn:gelu'},
    'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}},
    'kernel': {'use': 'attention.plain:Plain'},
    'mask': {'use': 'ops.mask:Full'},
    'norm': {'use': 'norm.layer:LayerNorm'},
    'position': {'use': 'position.none:NoPosition'},
    'run': {'use': 'model.stack:Unrolled'},
    'tied': True,
}
_LINEN = ('name', 'parent')  # what every Linen module takes besides its fields


def _places(x: Array) -> Int[Array, 'B T']:
    return jnp.broadcast_to(jnp.arange(x.shape[1]), x.shape[:2])


# What a call leaves out, made from the array that it is of.
_ABSENT: Mapping[str, Callable[[Any], Any]] = {
    'context': lambda x: LayerContext(_places(x)),
    'positions': _places,
    'train': lambda x: False,
}


@functools.cache
def conventional(made: type) -> Any:
    """Return the function that makes a Linen module by its fields; any other class as it is."""
    if not issubclass(made, nn.Module):
        return made

    @functools.wraps(made, updated=())
    def make(**given: Any) -> nn.Module:
        linen = {name: given.pop(name) for name in _LINEN if name in given}
        known = fields(made)
        usual = {name: CONVENTIONAL[name] for name in known if name in CONVENTIONAL and known[name][1]}
        arguments = {**usual, **{name: as_part(value) for name, value in given.items()}}
        part = bind(made, arguments, f'saccade.{made.__name__}')
        return _anywhere(made)(**dict(part.arguments), **linen)

    make.__signature__ = inspect.signature(made)
    return make


def part_of(spec: Mapping[str, Any]) -> Part:
    """Return the part of a spec, as in a config: a dict with `use` and the part's fields."""
    return build(spec, 'spec')


def as_part(value: Any) -> Any:
    """Return the part of a Linen module, of a mask or of a function, and of each in a sequence; others as they are."""
    if isinstance(value, Part | None):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        own = {name: getattr(value, name) for name in fields(type(value)) if name not in _LINEN}
        return Part(getattr(type(value), 'of_class', type(value)), tuple(sorted(own.items())))
    if callable(value):
        return Part(value)
    if isinstance(value, list | tuple):
        return tuple(map(as_part, value))
    if isinstance(value, Mapping) and 'use' not in value:
        return {name: as_part(item) for name, item in value.items()}
    return value


def _on_device(value: Any) -> Any:
    """Return NumPy arrays, lists and what a context has of these as JAX arrays; anything else as it is."""
    if isinstance(value, list | np.ndarray):
        return jnp.asarray(value)
    if isinstance(value, LayerContext | Source):
        return jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray) else leaf, value)
    return value


@functools.cache
def _anywhere(made: type) -> type:
    """Return a class like another, whose modules declare no axes and can be called without a context and `train`."""
    signature = inspect.signature(made.__call__)

    def call(self: nn.Module, *given: Any, **more: Any) -> Any:
        bound = signature.bind_partial(self, *given, **more)
        for name, value in bound.arguments.items():
            bound.arguments[name] = _on_device(value)
            if isinstance(value, LayerContext):
                value.require_whole_segments()
        first = [*bound.arguments.values()][1]  # after self, in the order of the signature
        x = bound.arguments.get('tokens', first)
        context = bound.arguments.get('context')
        if 'context' in signature.parameters and not isinstance(context, LayerContext | None):
            raise UserError(
                f'saccade.{made.__name__}: context must be a LayerContext of saccade.types, not '
                f'{type(context).__name__}; for cross-attention to y: LayerContext(positions, source=Source(y, '
                f'source_positions))'
            )
        for name, usual in _ABSENT.items():
            if name in signature.parameters and name not in bound.arguments:
                bound.arguments[name] = usual(x)
        with undeclared():
            return made.__call__(*bound.args, **bound.kwargs)

    names = {'__module__': made.__module__, '__qualname__': made.__qualname__, '__doc__': made.__doc__}
    return type(made.__name__, (made,), {**names, '__call__': call, 'of_class': made, '__annotations__': {}})
