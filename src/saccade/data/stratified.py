# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Splits into training and validation; the stratified one holds out a fixed fraction of each class."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int

from saccade.types import UserError


def both_splits(
    chosen: Sequence[bool] | Bool[np.ndarray, 'examples'], fraction: float
) -> dict[str, Bool[np.ndarray, 'examples']]:
    """Return a mask of the examples for each split, given the held-out ones; with a fraction of 1 all are in both."""
    chosen = np.asarray(chosen, bool)
    return {'train': ~chosen | (fraction == 1), 'validation': chosen}


def stratified(labels: Int[np.ndarray, 'examples'], share: float) -> Bool[np.ndarray, 'examples']:
    """Return True for the examples that are held out.

    Raises:
        UserError: the share is not a fraction, or leaves a class without examples for training or for validation.
    """
    if not 0 < share <= 1:
        raise UserError(f'data.validation: {share} is not a fraction between 0 and 1')
    drawn = np.random.Philox(key=0).random_raw(len(labels))
    chosen = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        (members,) = np.nonzero(labels == label)
        count = round(share * len(members))
        if not 0 < count < len(members) and share < 1:
            raise UserError(
                f'data.validation: {share} of the {len(members)} examples of a class leaves none on one side; give '
                'more examples, or a folder with train and validation'
            )
        chosen[members[np.argsort(drawn[members])[:count]]] = True
    return chosen
