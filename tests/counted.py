# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Operations of a program by name, counted as its products are."""

from collections.abc import Callable
from typing import Any

import jax

from saccade.ops import flops


def count_primitive(function: Callable[..., Any], name: str, *args: Any) -> int:
    """Count how often `function(*args)` executes a primitive, as in 'dot_general', loops multiplied out."""

    def is_named(equation: Any) -> int:
        return int(equation.primitive.name == name)

    return flops._tally(jax.make_jaxpr(function)(*args), is_named, flops._executed)
