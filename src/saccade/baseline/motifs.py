# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Optimal prediction of hidden residues of `data.corpus.motifs`: the exact posterior, by a sum over all layouts.

    p(x_t | visible) = Σ_l p(l | visible) p(x_t | l, visible),   p(l | visible) ~ Π_t visible p(x_t | l, x_<t visible)

A layout l assigns an element of the patterns to each position; all layouts of a sequence's length are equally probable
a priori. No model can have a higher expected accuracy where all predicted residues are hidden, so the task must have
`hidden=1.0` and `noise=0.0`. Cost per row: the layouts of one length, some hundreds, times the positions.
"""

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from saccade.data.corpus.motifs import FREQUENCIES, PARTNERS, PATTERNS, layout
from saccade.data.tokenizer.amino_acid import RESIDUES, STANDARD
from saccade.ops.masking import choose_tokens, row_keys
from saccade.types import Metric, UserError, declares, fraction

__all__ = ['best_possible']

_PARTNER = np.array([STANDARD.index(PARTNERS[residue]) for residue in STANDARD])
_FREQUENCIES = np.array([FREQUENCIES[residue] for residue in STANDARD]) / sum(FREQUENCIES.values())

Kind = tuple[str, int]  # residues of an element, and the offset of their partners (0: none)


_MEASURED = Metric('loss', 'lowest', 0.0, unit='nats'), fraction('accuracy')  # results of `_measured`, unprefixed


@declares(*(each.prefixed(name) for name in ('masked', 'best') for each in _MEASURED))
def best_possible(train: Any, validation: Any, vocabulary: int, /, share: float) -> dict[str, float]:
    """Return the accuracy and loss [nats] of the most frequent residues, and of the best prediction, as `best_*`.

    Both predict the residues hidden in evaluation.

    Args:
        share: fraction of residues that are hidden, as in the task.

    Raises:
        UserError: a row is not a whole sequence of the dataset.
    """
    rows, first = validation.rows, vocabulary - len(RESIDUES)
    words = jnp.asarray(np.stack([rows[row]['words'] for row in range(len(rows))]))
    keys = row_keys(jax.random.key(0), jnp.arange(len(rows)))  # as in MaskedLM without training
    chosen = choose_tokens(keys, words, share)
    right, best = [], []
    for row, (at, counts) in enumerate(zip(np.asarray(chosen.at), np.asarray(chosen.counts) > 0, strict=True)):
        (span,) = rows.spans(row)
        residues = np.asarray(rows.tokens[span], np.int64)
        (begin,) = rows.frame.starts(residues)
        residues, places = residues - first, at[counts] - begin
        if residues.min() < 0 or residues.max() >= len(STANDARD):
            raise UserError(f"config.baseline: row {row} is not a sequence of the dataset 'motifs'")
        right.append(residues[places])
        best.append(posterior(residues, np.isin(np.arange(len(residues)), places))[places])
    answers = np.concatenate(right)
    frequent = np.broadcast_to(_FREQUENCIES, (len(answers), len(STANDARD)))
    return {**_measured(frequent, answers, 'masked'), **_measured(np.concatenate(best), answers, 'best')}


def posterior(residues: Int[np.ndarray, 'T'], hidden: Bool[np.ndarray, 'T']) -> Float[np.ndarray, 'T 20']:
    """Return the probability of each standard residue at each position, in the order of their codes.

    Args:
        residues: residue numbers of a sequence; hidden ones are ignored.
        hidden: True for hidden residues.

    Raises:
        UserError: no layout admits the sequence.
    """
    kinds, layouts = _layouts(len(residues))
    probable = np.stack([_probable(kind, residues, hidden) for kind in kinds])  # [kinds, T, 20]
    # Of two visible partners, only the second follows from the other.
    given = probable.copy()
    given[[partner > 0 for _, partner in kinds]] = _FREQUENCIES
    with np.errstate(divide='ignore'):
        visible = np.where(hidden, 0.0, np.log(given[:, np.arange(len(residues)), residues]))
    scores = np.take_along_axis(visible, layouts, axis=0).sum(axis=-1)
    if not len(scores) or scores.max() == -np.inf:
        raise UserError("config.baseline: a row is not a whole sequence of the dataset 'motifs'")
    weights = np.exp(scores - scores.max())
    of_kinds = (layouts == np.arange(len(kinds))[:, None, None]).astype(float)  # [kinds, layouts, T]
    return np.einsum('ELT,L,ETV->TV', of_kinds, weights / weights.sum(), probable, optimize=True)


@functools.cache
def _layouts(length: int) -> tuple[list[Kind], Int[np.ndarray, 'L T']]:
    """Return the kinds of elements, and the layouts of this length: the index of the kind at each position."""
    kinds: dict[Kind, int] = {}
    found = []
    for first in PATTERNS:
        elements = layout(first)
        numbers = [kinds.setdefault((each.residues, each.partner), len(kinds)) for each in elements]
        for counts in itertools.product(*(range(each.fewest, each.most + 1) for each in elements)):
            if sum(counts) == length:
                found.append(np.repeat(numbers, counts))
    return [*kinds], np.array(found, np.int64).reshape(-1, length)


def _probable(kind: Kind, residues: np.ndarray, hidden: np.ndarray) -> Float[np.ndarray, 'T 20']:
    """Return the probability of each residue for an element of this kind at each position, given a visible partner."""
    drawn, partner = _residues(kind), kind[1]
    probable = np.tile(drawn[_PARTNER] if partner < 0 else drawn, (len(residues), 1))
    if partner:
        places = np.arange(len(residues)) + partner
        there = np.clip(places, 0, len(residues) - 1)
        seen = (places == there) & ~hidden[there]
        probable[seen] = np.eye(len(STANDARD))[_PARTNER[residues[there[seen]]]]
    return probable


def _residues(kind: Kind) -> Float[np.ndarray, '20']:
    """Return the probability of each residue independent of its partner."""
    frequencies = np.where([residue in kind[0] for residue in STANDARD], _FREQUENCIES, 0.0)
    return frequencies / frequencies.sum()


def _measured(probable: Float[np.ndarray, 'N 20'], answers: Int[np.ndarray, 'N'], name: str) -> dict[str, float]:
    given = probable[np.arange(len(answers)), answers]
    return {
        f'{name}_accuracy': float((probable.argmax(axis=-1) == answers).mean()),
        f'{name}_loss': float(-np.log(given).mean()),
    }
