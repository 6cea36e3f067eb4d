# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Numeric fields that only scale values in a training step, passed to compiled programs as arguments."""

from typing import Annotated, Any, get_args

from jaxtyping import Array, Float


class Scales:
    """Type of a numeric field that only scales values in a training step.

        weight: Scales[NotNegative] = 1.0

    The value of this field of a task or an optimizer is an argument of the compiled programs, so runs with different
    values share a program. While a program is traced the field is a traced array. Zero and None are not arguments,
    as they can disable a term: test for zero with `is_zero`, and do not branch on other values.
    """

    def __class_getitem__(cls, kind: Any) -> Any:
        """Return the type of a number, such as NotNegative, or a traced array."""
        number, *stated = get_args(kind) or (kind,)
        return Annotated[(number | Float[Array, ''], *stated, cls)]


def is_zero(value: object) -> bool:
    """Return True if a number is zero in every run that shares the program; False for a traced number."""
    return isinstance(value, int | float) and value == 0
