# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ALiBi slopes: decrease of each head's scores per token of distance."""


def geometric_slopes(heads: int) -> tuple[float, ...]:
    """Return one slope per head: 2^(-8/N), 2^(-16/N), ..., 2^-8 if N is a power of two (Press et al. 2022, section 3).

    For other N, as in the authors' code: the slopes of the next lower power of two, then every other slope of the next
    higher one, from the steepest on.
    """
    power = 1 << (heads.bit_length() - 1)
    between = _of_power(2 * power)[::2]
    return (*_of_power(power), *between[: heads - power])


def _of_power(heads: int) -> tuple[float, ...]:
    return tuple(2.0 ** (-8 * (head + 1) / heads) for head in range(heads))
