# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of a config.json, with checked types; unsupported values raise an error."""

import reprlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from saccade.types import UserError

NEEDED = object()
_SHOWN = reprlib.Repr()
_SHOWN.maxstring = 100
_MOST = 100_000_000  # bound on every integer setting, above all real sizes
_WORDS = {
    int: f'a whole number, from {{least}} to {_MOST:,}',
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


class Settings(Mapping[str, Any]):
    """Settings of a config.json, or of an object in it, with a record of the keys that were read.

    Attributes:
        at: path of the object in config.json, '' or as in 'text_config.'; messages put it before a key.
        seen: keys that were read by `get`.
    """

    def __init__(self, values: Mapping[str, Any], at: str = '') -> None:
        self._values, self.at, self.seen = values, at, set[str]()

    def get(self, key: str, default: Any = None) -> Any:
        """Return one value, and record its key as read."""
        self.seen.add(key)
        return self._values.get(key, default)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def read(config: Mapping[str, Any], key: str, kind: type, default: Any = NEEDED, least: int = 1) -> Any:
    """Return one setting; absent or null, it is the default, if one is given.

    Raises:
        UserError: it is missing, has the wrong type, or is out of range: an int from `least` to _MOST, a float finite
            and at least 0.
    """
    value = config.get(key)
    if value is None:
        if default is NEEDED:
            raise UserError(f'{_where(config, key)} is missing')
        return default
    if not _is(value, kind, least):
        words = _WORDS[kind].format(least=least)
        raise UserError(f'{_where(config, key)} must be {words}, not {shortened(value)}')
    return value if isinstance(value, Mapping) else kind(value)


def require(config: Mapping[str, Any], key: str, value: Any) -> None:
    """Check that a setting is absent or has the only supported value.

    Raises:
        UserError: it has another value.
    """
    given = config.get(key)
    given = [*given] if isinstance(given, tuple) else given  # a list of JSON, as a config class has it
    if given is not None and given != value:
        words = f'is {shortened(given)}, which cannot be represented; only {value!r} can'
        raise UserError(f'{_where(config, key)} {words}')


def read_activation(config: Mapping[str, Any], key: str, default: Any = NEEDED) -> dict[str, Any]:
    """Return the spec of the activation that a setting names.

    Raises:
        UserError: the setting is missing, is not text, or names an unknown activation.
    """
    name = read(config, key, str, default)
    if name not in ACTIVATIONS:
        known = ', '.join(ACTIVATIONS)
        raise UserError(f'{_where(config, key)}: unknown activation {shortened(name)}; known: {known}')
    return dict(ACTIVATIONS[name])


def shortened(value: Any) -> str:
    """Return the text of a value for a message, abbreviated if it is long or deep."""
    return _SHOWN.repr(value)


def _where(config: Mapping[str, Any], key: str) -> str:
    return f'config.json: {config.at if isinstance(config, Settings) else ""}{key}'


def _is(value: Any, kind: type, least: int) -> bool:
    if kind not in (int, float):
        return isinstance(value, Mapping if kind is dict else kind)
    if isinstance(value, bool):
        return False
    if kind is int:
        return isinstance(value, int) and least <= value <= _MOST
    return isinstance(value, int | float) and 0 <= value <= sys.float_info.max
