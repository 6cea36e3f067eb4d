# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Best span of tokens from start and stop scores, on the host.

    s_ij = start_i + stop_j,   i <= j < i + longest

Devlin et al. 2019, "BERT", section 4.2, https://arxiv.org/abs/1810.04805. Cost: T longest per row.
"""

import numpy as np
from jaxtyping import Float, Int

Scores = Float[np.ndarray, 'R T']
Places = Int[np.ndarray, 'R']


def best_spans(start: Scores, stop: Scores, longest: int) -> tuple[Places, Places, Float[np.ndarray, 'R']]:
    """Return the first and the last token of the best span of each row, and its score.

    Tokens outside the candidates have scores of -inf, as does the best span of a row without candidates.

    Args:
        longest: maximum span length in tokens.
    """
    beyond = np.full((len(stop), longest - 1), -np.inf, stop.dtype)
    reach = np.lib.stride_tricks.sliding_window_view(np.concatenate([stop, beyond], axis=-1), longest, axis=-1)
    first = (start + reach.max(axis=-1)).argmax(axis=-1)
    rows = np.arange(len(start))
    last = first + reach[rows, first].argmax(axis=-1)
    return first, last, start[rows, first] + stop[rows, last]
