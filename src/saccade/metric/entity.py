# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Named-entity metrics: precision, recall and F1 of entities.

Tags are BIO: B-X begins an entity of type X, I-X goes on with it, O is outside. An entity is found when its type, its
start and its stop are right, all three. E. Tjong Kim Sang and F. De Meulder, 2003, Introduction to the CoNLL-2003
shared task, https://aclanthology.org/W03-0419/. Tags that no annotator would write are read as its
program conlleval reads them: an I-X that has nothing of type X to go on with begins an entity. So does seqeval by
default; its strict mode drops such an entity.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from saccade.metric.bootstrap import Measured, Number, Sums, of_sums, ratio
from saccade.types import UserError, declares, fraction

__all__ = ['require_bio', 'tagged']

Tags = Sequence[str]


@declares(fraction('f1'), fraction('precision'), fraction('recall'), fraction('token_accuracy'))
def tagged(gold: Sequence[Tags], predicted: Sequence[Tags], /) -> dict[str, Measured]:
    """Return `f1`, `precision` and `recall` of entities, and `token_accuracy`, for sentences of tags.

    Sentences are what is drawn for the intervals: the entities of one are not independent.

    Raises:
        UserError: there are no sentences.
    """
    sentences = tally(gold, predicted)
    metrics = {'f1': f1, 'precision': precision, 'recall': recall, 'token_accuracy': token_accuracy}
    return {name: of_sums(sentences, statistic) for name, statistic in metrics.items()}


def entities(tags: Tags) -> list[tuple[str, int, int]]:
    """Return the type, the start and the stop of each entity, in tokens; the stop is the token after its last."""
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
        place: where the sentence stands, as the message is to name it.

    Raises:
        UserError: a tag is neither O nor B- or I- and a type, or an I-X follows neither B-X nor I-X.
    """
    for at, (before, tag) in enumerate(zip(['O', *tags], tags, strict=False)):
        prefix, _, kind = tag.partition('-')
        if tag != 'O' and (prefix not in ('B', 'I') or not kind):
            raise UserError(f"{place}: tag {at + 1} is '{tag}', which is neither O nor B- or I- and a type")
        if prefix == 'I' and before not in (f'B-{kind}', f'I-{kind}'):
            after = f"follows '{before}'" if at else 'is the first'
            raise UserError(f"{place}: tag {at + 1}, '{tag}', {after}: an entity begins with B-{kind}")


def tally(gold: Sequence[Tags], predicted: Sequence[Tags]) -> Int[np.ndarray, 'sentences 5']:
    """Count in each sentence the entities found, predicted and true, the tokens tagged right, and all tokens."""
    counts = []
    for tags, guesses in zip(gold, predicted, strict=True):
        true, guessed = set(entities(tags)), set(entities(guesses))
        right = sum(tag == guess for tag, guess in zip(tags, guesses, strict=True))
        counts.append((len(true & guessed), len(guessed), len(true), right, len(tags)))
    return np.array(counts, np.int64).reshape(len(gold), 5)


def precision(sums: Sums) -> Number:
    """Return the share of the predicted entities that are true."""
    return ratio(sums[..., 0], sums[..., 1])


def recall(sums: Sums) -> Number:
    """Return the share of the true entities that are found."""
    return ratio(sums[..., 0], sums[..., 2])


def f1(sums: Sums) -> Number:
    """Return the harmonic mean of precision and recall."""
    return ratio(2 * sums[..., 0], sums[..., 1] + sums[..., 2])


def token_accuracy(sums: Sums) -> Number:
    """Return the share of the tokens tagged right."""
    return ratio(sums[..., 3], sums[..., 4])
