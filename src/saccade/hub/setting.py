# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of a config.json, with their types checked; what we cannot represent is refused."""

import reprlib
import sys
from collections.abc import Mapping
from typing import Any

from saccade.types import UserError

_NEEDED = object()
_SHOWN = reprlib.Repr()
_SHOWN.maxstring = 100
_MOST = 100_000_000  # of any size of any model, so that none that is meant is refused
_WORDS = {
    int: f'a whole number, from 1 to {_MOST:,}',
    float: 'a number, at least 0 and finite',
    bool: 'true or false',
    str: 'text',
    dict: 'an object',
    list: 'a list',
}

_TANH_GELU = {'use': 'jax.nn:gelu', 'approximate': True}
_ERF_GELU = {'use': 'ops.activation:gelu'}
ACTIVATIONS = {
    'gelu': _ERF_GELU,
    'gelu_python': _ERF_GELU,
    'gelu_new': _TANH_GELU,
    'gelu_fast': _TANH_GELU,
    'gelu_pytorch_tanh': _TANH_GELU,
    'gelu_python_tanh': _TANH_GELU,
    'quick_gelu': {'use': 'ops.activation:quick_gelu'},
    'relu': {'use': 'jax.nn:relu'},
    'relu6': {'use': 'jax.nn:relu6'},
    'leaky_relu': {'use': 'jax.nn:leaky_relu'},
    'silu': {'use': 'jax.nn:silu'},
    'swish': {'use': 'jax.nn:silu'},
    'hardswish': {'use': 'jax.nn:hard_swish'},
    'mish': {'use': 'jax.nn:mish'},
    'sigmoid': {'use': 'jax.nn:sigmoid'},
    'tanh': {'use': 'jax.numpy:tanh'},
    'linear': {'use': 'jax.nn:identity'},
}


def read(config: Mapping[str, Any], key: str, kind: type, default: Any = _NEEDED) -> Any:
    """Return one setting; absent or null, it is the default, if one is given.

    Raises:
        UserError: it is missing, or of another type; an int is from 1 to _MOST, a float at least 0 and finite.
    """
    value = config.get(key)
    if value is None:
        if default is _NEEDED:
            raise UserError(f'config.json: {key} is missing')
        return default
    if not _is(value, kind):
        raise UserError(f'config.json: {key} must be {_WORDS[kind]}, not {shortened(value)}')
    return kind(value)


def require(config: Mapping[str, Any], key: str, value: Any) -> None:
    """Refuse a setting that is given and is another than the value, the only one that we can represent.

    Raises:
        UserError: it is another.
    """
    given = config.get(key)
    if given is not None and given != value:
        raise UserError(f'config.json: {key} is {shortened(given)}, which cannot be represented; only {value!r} can')


def shortened(value: Any) -> str:
    """Return a value as it is named in a message, without the most of one that is long or deep."""
    return _SHOWN.repr(value)


def activation(name: str) -> dict[str, Any]:
    """Return the spec of an activation by the name that transformers gives it.

    Raises:
        UserError: we have none of this name.
    """
    if name not in ACTIVATIONS:
        raise UserError(f'config.json: there is no activation {shortened(name)}; there are {", ".join(ACTIVATIONS)}')
    return dict(ACTIVATIONS[name])


def _is(value: Any, kind: type) -> bool:
    if kind not in (int, float):
        return isinstance(value, kind)
    if isinstance(value, bool):
        return False
    if kind is int:
        return isinstance(value, int) and 1 <= value <= _MOST
    return isinstance(value, int | float) and 0 <= value <= sys.float_info.max
