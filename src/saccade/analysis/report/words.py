# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Number formats. Unknown values are a dash."""

import math
from collections.abc import Sequence

UNKNOWN = '—'
MINUS = '\N{MINUS SIGN}'

_PREFIXES = ((1e18, 'E'), (1e15, 'P'), (1e12, 'T'), (1e9, 'G'), (1e6, 'M'), (1e3, 'k'))
_TIMES = ((3600, 'hours'), (60, 'minutes'), (1, 'seconds'))
_TELLING = 2  # significant digits of half an interval's width
_FEWEST, _MOST = 0, 6  # decimals


def decimals(halves: list[float]) -> int:
    """Return the number of decimals for numbers with these half-widths of intervals."""
    halves = sorted(half for half in halves if 0 < half < math.inf)
    if not halves:
        return 4
    typical = halves[len(halves) // 2]
    return min(max(_TELLING - 1 - math.floor(math.log10(typical)), _FEWEST), _MOST)


def fixed(value: float | None, places: int, sign: bool = False) -> str:
    """Format a number with a fixed number of decimals, optionally with its sign."""
    if value is None:
        return UNKNOWN
    return f'{value:{"+" if sign else ""},.{places}f}'.replace('-', MINUS)


def amount(value: int | float | None, halves: Sequence[float] = ()) -> str:
    """Format a count with a prefix and three digits, such as 1.24 M; or with digits for these half-widths."""
    if value is None:
        return UNKNOWN
    size, prefix = next(((size, prefix) for size, prefix in _PREFIXES if abs(value) >= size * 0.9995), (1, ''))
    if halves:
        return f'{value / size:.{decimals([half / size for half in halves])}f} {prefix}'.rstrip()
    if size == 1:
        return f'{value:.3g}'
    whole = len(str(int(abs(value) / size * 1.0005)))
    return f'{value / size:.{max(3 - whole, 0)}f} {prefix}'


def duration(seconds: int | float | None) -> str:
    """Format a time in its two largest units: 3 min 20 s."""
    if seconds is None:
        return UNKNOWN
    if seconds < 10:
        return f'{seconds:.2g} s'
    hours, rest = divmod(round(seconds), 3600)
    minutes, left = divmod(rest, 60)
    return f'{hours} h {minutes} min' if hours else f'{minutes} min {left} s' if minutes else f'{left} s'


def time_unit(longest: float) -> tuple[float, str]:
    """Return the seconds of a unit for times up to `longest` seconds, and the label of an axis in this unit."""
    seconds, name = next(((seconds, name) for seconds, name in _TIMES if longest >= 2 * seconds), _TIMES[-1])
    return float(seconds), f'{name} of training'


def metric_name(name: str) -> str:
    """Return the name of a metric with spaces for underscores."""
    return name.replace('_', ' ')


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 variant, 2 variants."""
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'
