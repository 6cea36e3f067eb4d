# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Overlapping chunks of long documents, and the chunk in which each token has most context.

A token near the edge of a chunk lacks context beyond it; in an overlap, one of the chunks has more: Devlin et al. 2019,
"BERT", https://github.com/google-research/bert, run_squad.py, "max context".
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from saccade.data.rows.ragged import windows
from saccade.types import UserError

Span = tuple[int, int]  # start and stop in the document
Meeting = Callable[[Span, Span], int]  # the first token with more context in the later of two chunks


def chunks(length: int, room: int, overlap: int) -> list[Span]:
    """Return the chunks of a document, of at most `room` tokens, in order; neighbours share `overlap` tokens.

    Raises:
        UserError: the overlap is too large or negative, or a chunk has no room.
    """
    if not 0 <= overlap < room:
        raise UserError(f'overlap: must be at least 0 and below the {room} tokens of a chunk, not {overlap}')
    _, spans = windows(np.array([length]), room, overlap)
    return [(start, stop) for start, stop in spans.tolist()]


def shares(spans: Sequence[Span], meeting: Meeting) -> list[Span]:
    """Return for each chunk the tokens that have more context there than in any other; they partition the document."""
    meetings = [meeting(*neighbours) for neighbours in pairwise(spans)]
    return list(pairwise([spans[0][0], *meetings, spans[-1][1]]))


def on_both_sides(earlier: Span, later: Span) -> int:
    """Return the middle of the overlap: for context on both sides, as the shorter side counts."""
    return (later[0] + earlier[1] + 1) // 2


def before(earlier: Span, later: Span) -> int:
    """Return the end of the overlap: for context only before a token, as in a causal model."""
    return earlier[1]
