# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Named-entity metrics: precision, recall and F1 of entities.

Tags are BIO: B-X begins an entity of type X, I-X continues it, O is outside. A predicted entity is correct if its type,
start and stop are all right. E. Tjong Kim Sang and F. De Meulder, 2003, Introduction to the CoNLL-2003 shared task,
https://aclanthology.org/W03-0419/. Invalid sequences of tags are read as by its program conlleval: an I-X without a
preceding entity of type X begins an entity. seqeval's default mode agrees; its strict mode drops such an entity.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from saccade.metric.bootstrap import MetricInterval, Number, Sums, of_sums, ratio
from saccade.types import UserError, declares, fraction

__all__ = ['require_bio', 'tagged']

Tags = Sequence[str]


@declares(fraction('f1'), fraction('precision'), fraction('recall'), fraction('token_accuracy'))
def tagged(gold: Sequence[Tags], predicted: Sequence[Tags], /) -> dict[str, MetricInterval]:
    """Return `f1`, `precision` and `recall` of entities, and `token_accuracy`, for sentences of tags.

    The intervals resample sentences: entities within one sentence are not independent.

    Raises:
        UserError: there are no sentences.
    """
    sentences = tally(gold, predicted)
    metrics = {'f1': f1, 'precision': precision, 'recall': recall, 'token_accuracy': token_accuracy}
    return {name: of_sums(sentences, statistic) for name, statistic in metrics.items()}


def entities(tags: Tags) -> list[tuple[str, int, int]]:
    """Return (type, start, stop) of each entity, in tokens; stop is exclusive."""
    found: list[tuple[str, int, int]] = []
    for at, tag in enumerate(tags):
        prefix, _, kind = tag.partition('-')
        if prefix == 'I' and found and (found[-1][0], found[-1][2]) == (kind, at):
            found[-1] = (kind, found[-1][1], at + 1)
        elif tag != 'O':
            found.append((kind, at, at + 1))
    return found


def require_bio(tags: Tags, place: str, /) -> None:
    """Refuse the tags of a sentence that are no BIO.

    Args:
        place: location of the sentence, for the message.

    Raises:
        UserError: a tag is neither O nor B- or I- with a type, or an I-X follows neither B-X nor I-X.
    """
    for at, (before, tag) in enumerate(zip(['O', *tags], tags, strict=False)):
        prefix, _, kind = tag.partition('-')
        if tag != 'O' and (prefix not in ('B', 'I') or not kind):
            raise UserError(f"{place}: tag {at + 1} is '{tag}', which is neither O nor B- or I- with a type")
        if prefix == 'I' and before not in (f'B-{kind}', f'I-{kind}'):
            after = f"follows '{before}'" if at else 'is the first'
            raise UserError(f"{place}: tag {at + 1}, '{tag}', {after}: an entity begins with B-{kind}")


def tally(gold: Sequence[Tags], predicted: Sequence[Tags]) -> Int[np.ndarray, 'sentences 5']:
    """Count per sentence: correct, predicted and true entities, correctly tagged tokens, and all tokens."""
    counts = []
    for tags, guesses in zip(gold, predicted, strict=True):
        true, guessed = set(entities(tags)), set(entities(guesses))
        right = sum(tag == guess for tag, guess in zip(tags, guesses, strict=True))
        counts.append((len(true & guessed), len(guessed), len(true), right, len(tags)))
    return np.array(counts, np.int64).reshape(len(gold), 5)


def precision(sums: Sums) -> Number:
    """Return the fraction of predicted entities that are correct."""
    return ratio(sums[..., 0], sums[..., 1])


def recall(sums: Sums) -> Number:
    """Return the fraction of true entities that are predicted."""
    return ratio(sums[..., 0], sums[..., 2])


def f1(sums: Sums) -> Number:
    """Return the harmonic mean of precision and recall."""
    return ratio(2 * sums[..., 0], sums[..., 1] + sums[..., 2])


def token_accuracy(sums: Sums) -> Number:
    """Return the fraction of correctly tagged tokens."""
    return ratio(sums[..., 3], sums[..., 4])
