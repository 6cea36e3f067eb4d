# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that only scale what a training step computes, which compiled programs take as arguments."""

from typing import Annotated, Any, get_args

from jaxtyping import Array, Float


class Scales:
    """Type of a numeric field that only scales what a training step computes.

        weight: Scales[NotNegative] = 1.0

    Compiled programs take the value of such a field of a task or an optimizer as an argument, so that runs with other
    values share a program. While a program is traced the field holds a traced array. Zero and None are no arguments,
    since they may leave something out: test for zero by `is_zero`, and decide nothing by other values.
    """

    def __class_getitem__(cls, kind: Any) -> Any:
        """Return the type of numbers of a kind, as NotNegative, which are traced at times."""
        number, *stated = get_args(kind) or (kind,)
        return Annotated[(number | Float[Array, ''], *stated, cls)]


def is_zero(value: object) -> bool:
    """Return whether a number is zero in every run that shares the program; a traced one is not."""
    return isinstance(value, int | float) and value == 0
