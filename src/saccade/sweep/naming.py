# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Names of a sweep's points: their fields and values, shortened as far as they stay distinct."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from saccade.sweep.space import NAME, Point
from saccade.types import UserError

BASE = 'base'  # the point without changes
_LONGEST = 120  # bytes, since a name is also a folder's name
_STRANGE = re.compile(r'[^\w.=,+-]+')


def names(points: Sequence[Point]) -> list[str]:
    """Return a name for each point: the given one, or its shortened fields and values, 'heads=4,kernel=Plain'.

    Raises:
        UserError: two points have one name, since they are equal or differ only beyond the shortening.
    """
    fields = short_fields({field: None for point in points for field in point if field != NAME})
    values = {field: [point[field] for point in points if field in point] for field in fields}
    found = [_name(point, fields, values) for point in points]
    for name in found:
        if found.count(name) > 1:
            raise UserError(f"runs: {found.count(name)} of them are '{name}'; they must differ, or have names")
    return found


def short_fields(fields: Mapping[str, Any] | Sequence[str]) -> dict[str, str]:
    """Return for each dotted field its shortest suffix that no other field ends with."""
    short = {}
    for field in fields:
        parts, others = field.split('.'), [f'.{other}' for other in fields if other != field]
        ends = ['.'.join(parts[-count:]) for count in range(1, len(parts) + 1)]
        clear = [end for end in ends if not any(other.endswith(f'.{end}') for other in others)]
        short[field] = clear[0] if clear else field
    return short


def short_value(value: Any, among: Sequence[Any] = ()) -> str:
    """Return a value as a word; a part as its class, with the arguments in which it differs from others in `among`."""
    if isinstance(value, str):
        return _last(value, '/', among)
    if not isinstance(value, Mapping) or 'use' not in value:
        return ''.join(str(value).split())
    parts = [other for other in among if isinstance(other, Mapping) and 'use' in other]
    alike = [other for other in parts if other['use'] == value['use']]
    differing = [key for key in value if any(other.get(key) != value[key] for other in alike)]
    arguments = [f'{key}={short_value(value[key], [other.get(key) for other in alike])}' for key in differing]
    return '+'.join([_last(str(value['use']), ':', [str(other['use']) for other in parts]), *arguments])


def _last(text: str, mark: str, among: Sequence[Any]) -> str:
    """Return the text after the last mark, or the whole text if another one has the same end."""
    ends = [other.rpartition(mark)[2] for other in among if isinstance(other, str) and other != text]
    last = text.rpartition(mark)[2]
    return text if last in ('', *ends) else last


def _name(point: Point, fields: Mapping[str, str], values: Mapping[str, Sequence[Any]]) -> str:
    given = {field: value for field, value in point.items() if field != NAME}
    made = ','.join(f'{fields[field]}={short_value(value, values[field])}' for field, value in given.items())
    name = _STRANGE.sub('-', point.get(NAME) or made or BASE).strip('-.') or BASE
    encoded = name.encode()
    if len(encoded) > _LONGEST:
        kept = encoded[: _LONGEST - 9].decode(errors='ignore')
        name = f'{kept}-{hashlib.sha256(encoded).hexdigest()[:8]}'
    return name
