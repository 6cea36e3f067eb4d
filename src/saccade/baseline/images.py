# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Image classifiers on raw pixels: nearest neighbours, logistic regression and a multilayer perceptron.

They are scikit-learn's, with its default settings apart from those below, on the pixels of the model's input. Needs the
extra `vision`.
"""

from typing import Any

import numpy as np

from saccade.types import UserError, declares, fraction

__all__ = ['classifiers']

_NEIGHBOURS, _HIDDEN = 3, (64,)


@declares(fraction('accuracy'), fraction('linear_accuracy'), fraction('mlp_accuracy'))
def classifiers(train: Any, validation: Any, vocabulary: int | None, /) -> dict[str, float]:
    """Return the accuracy of 3 nearest neighbours as `accuracy`, `linear_accuracy` and `mlp_accuracy`.

    Raises:
        UserError: scikit-learn is not installed.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.neural_network import MLPClassifier
    except ImportError as error:
        raise UserError(
            'config.baseline: baseline.images:classifiers needs scikit-learn: pip install "saccade[vision]"'
        ) from error
    made = {
        'accuracy': KNeighborsClassifier(_NEIGHBOURS),
        'linear_accuracy': LogisticRegression(max_iter=1000),
        'mlp_accuracy': MLPClassifier(_HIDDEN, max_iter=500, random_state=0),
    }
    learned, tested = (_pixels(split) for split in (train, validation))
    return {
        name: float(each.fit(learned, train.answers).score(tested, validation.answers)) for name, each in made.items()
    }


def _pixels(split: Any) -> np.ndarray:
    return np.stack([split.rows[row]['images'].ravel() for row in range(len(split.rows))])
