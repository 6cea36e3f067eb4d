# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Overlapping chunks of long documents, and the chunk in which each token has most context.

A token near the edge of a chunk is seen without its neighbours beyond; where chunks overlap, one of them has more of
these: Devlin et al. 2019, "BERT", https://github.com/google-research/bert, run_squad.py, "max context".
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from saccade.data.rows.ragged import windows
from saccade.types import UserError

Span = tuple[int, int]  # start and stop in the document
Meeting = Callable[[Span, Span], int]  # the first token that the later of two chunks gives more context


def chunks(length: int, room: int, overlap: int) -> list[Span]:
    """Return chunks of a document of at most `room` tokens, in order; neighbours share `overlap` of them.

    Raises:
        UserError: chunks cannot overlap by so much, or hold no token.
    """
    if not 0 <= overlap < room:
        raise UserError(f'overlap: must be at least 0 and below the {room} tokens of a chunk, not {overlap}')
    _, spans = windows(np.array([length]), room, overlap)
    return [(start, stop) for start, stop in spans.tolist()]


def shares(spans: Sequence[Span], meeting: Meeting) -> list[Span]:
    """Return for each chunk the tokens that it gives more context than any other chunk: each token is in one share."""
    meetings = [meeting(*neighbours) for neighbours in pairwise(spans)]
    return list(pairwise([spans[0][0], *meetings, spans[-1][1]]))


def on_both_sides(earlier: Span, later: Span) -> int:
    """Where context is what stands before and after a token, and the shorter side counts: the middle of the overlap."""
    return (later[0] + earlier[1] + 1) // 2


def before(earlier: Span, later: Span) -> int:
    """Where context is what stands before a token, as for a causal model: the end of the overlap."""
    return earlier[1]
