# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Exercises of the notebooks in docs/notebooks: the check of a reader's answer."""

import numpy as np
from jaxtyping import ArrayLike

RIGHT, WRONG, OPEN = 'Right.', 'Not right yet', 'Not answered yet'  # first words of what a check prints


def check(answer: ArrayLike | None, right: ArrayLike, hint: str, within: float = 1e-4) -> None:
    """Print whether an answer is right, and a hint if it is not.

    Args:
        answer: number or array; None if the exercise is not answered yet, as a function without a `return` returns.
        right: expected number or array.
        hint: text that is printed with any verdict but `Right.`
        within: largest absolute difference.
    """
    if answer is None:
        print(f'{OPEN}: replace the None in the cell above. {hint}')
        return
    found, expected = np.asarray(answer), np.asarray(right)
    if found.shape != expected.shape:
        print(f'{WRONG}: the shape is {found.shape}, expected {expected.shape}. {hint}')
    elif not np.allclose(found, expected, rtol=0, atol=within):
        print(f'{WRONG}. {hint}')
    else:
        print(RIGHT)
