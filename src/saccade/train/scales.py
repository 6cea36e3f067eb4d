# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of an experiment that compiled programs take as arguments, so that runs which differ in them share a program.

A part declares them in its field types, by `saccade.types:Scales`. Rules of optax declare no ranges, so their numbers
are found by name, as `train.optimizer` checks them; a rule that chooses between programs by one of its numbers has none
of them as arguments. Zero and None are never arguments: a program without weight decay, clipping or smoothing is
another, cheaper one.

An argument is a float32 value, so 1 - b is computed in float32: for b = 0.9 it is 1 + 2.4e-7 times the constant 0.1 of
a compiled constant, and for b = 0.999 it is 1 - 1.3e-5 times 0.001, as in Adam's bias correction. All other numbers are
the same to the last bit; products of several may be rounded in another order. The losses of 50 steps differ from those
of programs with constants by a relative 5e-7 at most.
"""

import functools
import typing
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from saccade.build import defaults, fields
from saccade.train.experiment import Experiment
from saccade.train.optimizer import OF_OPTAX
from saccade.train.program import HAVE_SCALES
from saccade.types import Part, Scales


def scales_of(experiment: Experiment) -> dict[str, float]:
    """Return the numbers by their path, as 'config.optimizer.weight_decay'."""
    found: dict[str, float] = {}
    _mapped(_whole(experiment), 'config', lambda path, value: found.setdefault(path, value))
    return found


def rescaled(experiment: Experiment, scales: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an experiment that hold such numbers, with other numbers or with traced arrays."""
    return dict(_mapped(_whole(experiment), 'config', lambda path, value: scales[path]).arguments)


def _whole(experiment: Experiment) -> Part:
    return Part(Experiment, tuple((name, getattr(experiment, name)) for name in HAVE_SCALES))


def _mapped(part: Part, path: str, function: Callable[[str, float], Any]) -> Part:
    """Replace each such number of a part, and of the parts within it, by the function's value of its path and value."""
    inner = {name: _within(value, f'{path}.{name}', function) for name, value in part.arguments}
    numbers = {name: function(f'{path}.{name}', value) for name, value in _numbers(part)}
    return part.replace(**{**inner, **numbers})


def _within(value: Any, path: str, function: Callable[[str, float], Any]) -> Any:
    if isinstance(value, Part):
        return _mapped(value, path, function)
    if isinstance(value, tuple):
        return tuple(_within(item, f'{path}[{number}]', function) for number, item in enumerate(value))
    return value


@functools.lru_cache(maxsize=64)
def _numbers(part: Part) -> tuple[tuple[str, float], ...]:
    """Return such numbers among a part's own fields, from the config or by default."""
    of_optax = getattr(part.target, '__module__', '').partition('.')[0] == 'optax'
    known = fields(part.target)
    names = [name for name, (hint, _) in known.items() if (name in OF_OPTAX if of_optax else _scales(hint))]
    given = {**defaults(part.target), **dict(part.arguments)} if names else {}
    numbers = {name: float(given[name]) for name in names if type(given[name]) in (int, float) and given[name]}
    return () if numbers and of_optax and not _takes_traced(part, numbers) else tuple(numbers.items())


def _scales(hint: Any) -> bool:
    return Scales in getattr(hint, '__metadata__', ()) or any(map(_scales, typing.get_args(hint)))


def _takes_traced(rule: Part, numbers: Mapping[str, float]) -> bool:
    """Return True if one program of a rule of optax serves all values of its numbers, tested on one parameter."""

    def update(numbers: Mapping[str, Any], params: jax.Array) -> Any:
        made = rule.replace(**numbers)()
        return made.update(params, made.init(params), params)

    try:
        jax.eval_shape(update, numbers, jax.ShapeDtypeStruct((1,), jnp.float32))
    except jax.errors.ConcretizationTypeError:
        return False
    return True
