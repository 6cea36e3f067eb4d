# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parts: factories named in configs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import Any, Generic, TypeVar

from saccade.types.errors import UserError

T_co = TypeVar('T_co', covariant=True)


@dataclass(frozen=True)
class Part(Generic[T_co]):
    """A factory: a target to call, and the arguments from the config. Frozen, hashable and comparable.

    Two parts built from equal specs are equal, so they can be static arguments of a jitted function. (Rebuilt
    `functools.partial` objects compare unequal and would retrace.) Every call creates a new instance, so a
    factory passed to L layers creates L sets of weights.
    """

    target: Any
    arguments: tuple[tuple[str, Any], ...] = ()

    def __call__(self, *args: Any, **kwargs: Any) -> T_co:
        try:
            return self.target(*args, **dict(self.arguments), **kwargs)
        except TypeError:
            self._refuse_call(args, kwargs)
            raise

    def _refuse_call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raise a UserError if the target does not accept the arguments: it is another kind of part."""
        try:
            signature(self.target).bind(*args, **dict(self.arguments), **kwargs)
        except TypeError as error:
            raise UserError(f'{self.name} is not what its field takes: {error}') from None

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def values(self) -> dict[str, Any]:
        """Value of each field by name: the argument, or the default of the target where the config gives none."""
        return {**_defaults(self.target), **dict(self.arguments)}

    def replace(self, **arguments: Any) -> 'Part':
        """Return a copy of the part with these arguments replaced."""
        return Part(self.target, tuple(sorted({**dict(self.arguments), **arguments}.items())))

    @property
    def name(self) -> str:
        """The import path, as in `use` of a config."""
        module = self.target.__module__.removeprefix('saccade.')
        return f'{module}:{self.target.__qualname__}'

    def walk(self) -> Iterator['Part']:
        """Yield this part and the parts among its arguments, at any depth."""
        return (part for _, part in self.by_path(''))

    def by_path(self, path: str) -> Iterator[tuple[str, 'Part']]:
        """Yield this part and the parts among its arguments, at any depth, each with its path in a config.

        Args:
            path: path of this part, such as 'config.model'.
        """
        yield path, self
        for name, value in self.arguments:
            yield from _parts_by_path(f'{path}.{name}', value)


@cache
def _defaults(target: Any) -> dict[str, Any]:
    try:
        parameters = signature(target).parameters.values()
    except ValueError:  # written in C
        return {}
    return {parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty}


def _parts_by_path(path: str, value: Any) -> Iterator[tuple[str, Part]]:
    """Yield the parts in a value; `build` converts lists to tuples, and mappings to tuples of pairs."""
    if isinstance(value, Part):
        yield from value.by_path(path)
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            named = isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
            yield from _parts_by_path(*((f'{path}.{item[0]}', item[1]) if named else (f'{path}[{number}]', item)))
