# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Precision, recall and F1 of entities against seqeval, also of sequences that no annotator would write."""

import itertools

import numpy as np
import pytest

from saccade.metric.entity import entities, tagged

seqeval = pytest.importorskip('seqeval.metrics')
sequence_labeling = pytest.importorskip('seqeval.metrics.sequence_labeling')

pytestmark = pytest.mark.oracle

TAGS = ('O', 'B-X', 'I-X', 'B-Y', 'I-Y')
EVERY = [list(tags) for length in range(1, 6) for tags in itertools.product(TAGS, repeat=length)]


def values(gold, predicted):
    return {name: each.value for name, each in tagged(gold, predicted).items()}


def theirs(gold, predicted):
    return {
        'f1': seqeval.f1_score(gold, predicted, zero_division=0),
        'precision': seqeval.precision_score(gold, predicted, zero_division=0),
        'recall': seqeval.recall_score(gold, predicted, zero_division=0),
        'token_accuracy': seqeval.accuracy_score(gold, predicted),
    }


def test_entities_of_every_short_sequence_are_those_of_seqeval():
    for tags in EVERY:
        last = [(kind, start, stop - 1) for kind, start, stop in entities(tags)]
        assert last == sequence_labeling.get_entities(tags), tags


@pytest.mark.parametrize('seed', range(20))
def test_metrics_of_drawn_sequences_are_those_of_seqeval(seed):
    generator = np.random.default_rng(seed)
    long = [tags for tags in EVERY if len(tags) == 5]
    gold = [long[at] for at in generator.integers(len(long), size=1 + 5 * seed)]
    near = [[tag if generator.random() < 0.8 else str(generator.choice(TAGS)) for tag in tags] for tags in gold]
    assert values(gold, near) == pytest.approx(theirs(gold, near))


@pytest.mark.parametrize(
    ('gold', 'predicted'),
    [
        ([['O', 'O']], [['O', 'O']]),
        ([['B-X', 'O']], [['O', 'O']]),
        ([['O', 'O']], [['B-X', 'I-X']]),
        ([['B-X']], [['I-X']]),
        ([['B-X', 'I-X']], [['B-X', 'B-X']]),
        ([['B-X', 'I-X']], [['B-X', 'I-Y']]),
        ([['B-मुंबई', 'I-मुंबई', 'O']], [['B-मुंबई', 'I-मुंबई', 'B-東京']]),
        ([['B-work-of-art', 'I-work-of-art']], [['B-work-of-art', 'I-work']]),
        ([['B-X'], ['I-X']], [['B-X'], ['B-X']]),  # an entity does not cross sentences
    ],
)
def test_degenerate_sentences_are_as_in_seqeval(gold, predicted):
    assert values(gold, predicted) == pytest.approx(theirs(gold, predicted))
