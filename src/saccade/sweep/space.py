# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Search space of a sweep: plain data that describes a list of points.

A space is a dict with one of these keys, and a point is a dict of config fields and their values:

    dict(grid={'model.layers': [2, 4], 'model.width': [64, 128]})      every combination, the last field fastest
    dict(zip={'model.layers': [2, 4], 'model.width': [128, 64]})       corresponding values
    dict(list=[{}, {'name': 'deep', 'model.layers': 24}])              explicit points; {} is the unchanged config
    dict(random={'schedule.peak': dict(log_uniform=[1e-4, 1e-2])}, number=8, seed=0)
    dict(product=[space, space])                                       each point of one with each of the other
    dict(chain=[space, space])                                         all points of the first, then of the second

A random field is drawn by `uniform`, `log_uniform` or `integer` between two bounds (inclusive), or by `choice` from a
list. A larger `number` keeps the earlier points. Duplicates are dropped, so few choices may give fewer points than
draws. A part is a dict with `use`, and is replaced as a whole.
"""

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from saccade.types import UserError

Point = dict[str, Any]
Drawer = Callable[[np.random.Generator], Any]
Bounds = Sequence[int | float]
NAME = 'name'  # key of a point's name, which is not a field

_DIGITS = 4  # significant digits


def points(space: Any, where: str = 'runs') -> list[Point]:
    """Return the points of a space, in order.

    Args:
        where: path of the space in the sweep, for messages.

    Raises:
        UserError: the space is not one, or is empty.
    """
    keys = [key for key in _SPACES if isinstance(space, Mapping) and key in space]
    if len(keys) != 1:
        has = ', '.join(map(str, space)) or 'none' if isinstance(space, Mapping) else repr(space)
        raise UserError(f'{where}: a space is a dict with one of {", ".join(_SPACES)}; this one has {has}')
    make = _SPACES[keys[0]]
    rest = {key: value for key, value in space.items() if key != keys[0]}
    known = list(inspect.signature(make).parameters)[2:]
    for key in rest:
        if key not in known:
            has = ', '.join(known) or 'no other keys: seeds and match are next to runs'
            raise UserError(f"{where}: {keys[0]} has no '{key}'; it has {has}")
    found = make(space[keys[0]], f'{where}.{keys[0]}', **rest)
    if not found:
        raise UserError(f'{where}.{keys[0]}: it is empty; give at least one value')
    return found


def grid(axes: Any, where: str) -> list[Point]:
    """Return every combination of the values of fields, the last field fastest.

    Raises:
        UserError: `axes` is not a dict of lists, or a list is empty.
    """
    axes = _axes(axes, where)
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())] if axes else []


def _zip(axes: Any, where: str) -> list[Point]:
    axes = _axes(axes, where)
    lengths = {field: len(values) for field, values in axes.items()}
    if len(set(lengths.values())) > 1:
        shown = ', '.join(f'{field} has {length}' for field, length in lengths.items())
        raise UserError(f'{where}: zip needs equally many values for each field; {shown}')
    return [dict(zip(axes, values, strict=True)) for values in zip(*axes.values(), strict=True)]


def _list(listed: Any, where: str) -> list[Point]:
    for point in _sequence(listed, where):
        if not isinstance(point, Mapping):
            raise UserError(f'{where}: a point is a dict of fields and values, not {point!r}')
        _require_text(point, where)
        if not isinstance(point.get(NAME, ''), str):
            raise UserError(f'{where}: a name is text, not {point[NAME]!r}')
    return [dict(point) for point in listed]


def _random(draws: Any, where: str, number: Any = 0, seed: Any = 0) -> list[Point]:
    if not isinstance(number, int) or number < 1:
        raise UserError(f'{where}: give the number of points to draw, as in number=8')
    if not isinstance(seed, int) or seed < 0:
        raise UserError(f'{where}: its seed must be a whole number, not {seed!r}')
    if not isinstance(draws, Mapping):
        raise UserError(f'{where}: write a dict of fields and their distributions')
    _require_text(draws, where)
    drawers = {field: _drawer(draw, f'{where}.{field}') for field, draw in draws.items()}
    generator = np.random.default_rng(seed)
    drawn = [{field: draw(generator) for field, draw in drawers.items()} for _ in range(number)] if drawers else []
    return [point for at, point in enumerate(drawn) if point not in drawn[:at]]


def _product(spaces: Any, where: str) -> list[Point]:
    parts = [points(space, f'{where}[{number}]') for number, space in enumerate(_sequence(spaces, where))]
    return [_joined(combination, where) for combination in itertools.product(*parts)] if parts else []


def _chain(spaces: Any, where: str) -> list[Point]:
    parts = [points(space, f'{where}[{number}]') for number, space in enumerate(_sequence(spaces, where))]
    return list(itertools.chain(*parts))


_SPACES: dict[str, Callable[..., list[Point]]] = {
    'grid': grid,
    'zip': _zip,
    'list': _list,
    'random': _random,
    'product': _product,
    'chain': _chain,
}


def _joined(combination: Iterable[Point], where: str) -> Point:
    joined: Point = {}
    for point in combination:
        twice = joined.keys() & point.keys() - {NAME}
        if twice:
            raise UserError(f'{where}: {min(twice)} is in two of its spaces')
        names = [names[NAME] for names in (joined, point) if NAME in names]
        joined |= point | ({NAME: ','.join(names)} if names else {})
    return joined


def _drawer(draw: Any, where: str) -> Drawer:
    if not isinstance(draw, Mapping) or len(draw) != 1 or (kind := next(iter(draw))) not in _DRAWS:
        raise UserError(f'{where}: write a distribution, as in dict(uniform=[0.0, 0.2]); there are {", ".join(_DRAWS)}')
    values = _sequence(draw[kind], f'{where}.{kind}')
    way = _DRAWS[kind]
    if not way.admits(values):
        raise UserError(f'{where}.{kind}: needs {way.needs}, not {values!r}')
    return lambda generator: way.draw(generator, values)


def _are_bounds(values: Sequence[Any]) -> bool:
    numbers = all(isinstance(value, int | float) and math.isfinite(value) for value in values)
    return len(values) == 2 and numbers and values[0] <= values[1]


@dataclass(frozen=True)
class _Draw:
    """Distribution. Attributes: draw, samples from the values; admits, checks the values; needs, describes them."""

    draw: Callable[[np.random.Generator, Sequence[Any]], Any]
    admits: Callable[[Sequence[Any]], bool]
    needs: str


_DRAWS = {
    'uniform': _Draw(
        lambda generator, bounds: _rounded(generator.uniform(*bounds), bounds),
        _are_bounds,
        'two bounds, the lower first',
    ),
    'log_uniform': _Draw(
        lambda generator, bounds: _rounded(math.exp(generator.uniform(*map(math.log, bounds))), bounds),
        lambda values: _are_bounds(values) and values[0] > 0,
        'two bounds, both positive, the lower first',
    ),
    'integer': _Draw(
        lambda generator, bounds: int(generator.integers(*bounds, endpoint=True)),
        lambda values: _are_bounds(values) and all(isinstance(value, int) for value in values),
        'two bounds, both whole, the lower first',
    ),
    'choice': _Draw(
        lambda generator, values: values[int(generator.integers(len(values)))],
        bool,
        'at least one value',
    ),
}


def significant(value: float) -> float:
    """Return a number with so few digits that its name can be its value."""
    return float(f'{value:.{_DIGITS}g}')


def _rounded(value: float, bounds: Bounds) -> float:
    return float(min(max(significant(value), bounds[0]), bounds[1]))


def _axes(axes: Any, where: str) -> dict[str, list[Any]]:
    if not isinstance(axes, Mapping):
        raise UserError(f'{where}: write a dict of fields and their values, not {axes!r}')
    _require_text(axes, where)
    found = {field: list(_sequence(values, f'{where}.{field}')) for field, values in axes.items()}
    for field, values in found.items():
        if not values:
            raise UserError(f'{where}.{field}: it is empty; give at least one value')
    return found


def _sequence(values: Any, where: str) -> Sequence[Any]:
    values = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise UserError(f'{where}: write a list, not {values!r}')
    return values


def _require_text(fields: Mapping[Any, Any], where: str) -> None:
    for field in fields:
        if not isinstance(field, str):
            raise UserError(f"{where}: a field is text, as in 'model.width', not {field!r}")
