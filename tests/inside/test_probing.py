# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Linear probes find the minimum of their loss, choose nothing on validation texts, and read the layers of a model."""

from collections import Counter

import numpy as np
import pytest
from scipy.special import log_softmax

from saccade.inside import probing_tasks
from saccade.inside.probing import LabelledTexts, LinearProbe, Probes, probe
from saccade.inside.probing_tasks import TASKS, made_from
from saccade.types import UserError

PENALTY = 0.05
TEXTS = ['the dog saw a cat', 'a cat sat', 'the cat saw the dog and this dog', 'this dog', 'a dog and a cat']


@pytest.fixture(scope='module')
def blobs():
    """Overlapping classes, on scales that differ by a factor of ten thousand."""
    source = np.random.default_rng(0)
    labels = source.integers(3, size=90)
    centres = source.normal(size=(3, 4))
    return (centres[labels] + source.normal(size=(90, 4))) * [1.0, 100.0, 0.01, 1.0] + [0.0, 1000.0, 0.0, 5.0], labels


def loss(found, vectors, labels):
    z = (vectors - vectors.mean(axis=0)) / vectors.std(axis=0)
    logs = log_softmax(z @ found.weights + found.bias, axis=-1)
    return -logs[np.arange(len(labels)), labels].mean() + PENALTY / 2 * (found.weights**2).sum()


def test_a_probe_is_at_the_minimum_of_its_loss(blobs):
    vectors, labels = blobs
    found = LinearProbe.fit(vectors, labels, 3, PENALTY)
    least = loss(found, vectors, labels)
    step = 1e-3
    for name in ('weights', 'bias'):
        array = getattr(found, name)
        for place in np.ndindex(array.shape):
            kept = array[place]
            around = []
            for change in (-step, step):
                array[place] = kept + change
                around.append(loss(found, vectors, labels))
            array[place] = kept
            assert min(around) > least - 1e-8
            assert abs(around[1] - around[0]) / (2 * step) < 1e-4


def test_shifts_and_scales_of_features_change_nothing(blobs):
    vectors, labels = blobs
    moved = vectors * [3.0, 0.1, 7.0, 1.0] + 2.0
    one, other = (LinearProbe.fit(each, labels, 3, PENALTY) for each in (vectors, moved))
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-4)
    np.testing.assert_array_equal(one.predict(vectors), other.predict(moved))


def test_a_feature_without_variance_is_ignored(blobs):
    vectors, labels = blobs
    constant = np.concatenate([vectors, np.full((len(vectors), 1), 4.0)], axis=1)
    found = LinearProbe.fit(constant, labels, 3, PENALTY)
    assert np.isfinite(found.weights).all()
    np.testing.assert_array_equal(
        found.predict(constant), LinearProbe.fit(vectors, labels, 3, PENALTY).predict(vectors)
    )


def numbered(count, labels, validation):
    texts = [str(number) for number in range(len(labels))]
    return LabelledTexts('known', ('a', 'b'), (texts[:count], labels[:count]), (texts[count:], validation))


def test_the_layer_and_the_penalty_are_chosen_without_validation_labels():
    source = np.random.default_rng(1)
    labels = source.integers(2, size=300)
    vectors = {'0': source.normal(size=(300, 5)), '1': source.normal(size=(300, 5)) + 2 * labels[:, None]}
    right = numbered(200, labels, labels[200:])
    wrong = numbered(200, labels, 1 - labels[200:])
    one, other = (probe('model', vectors, each) for each in (right, wrong))
    assert one.chosen == other.chosen == '1'
    assert one.layers['1'].accuracy.value > 0.95
    assert abs(one.layers['0'].accuracy.value - 0.5) < 0.15
    for layer in vectors:
        assert one.layers[layer][:2] == other.layers[layer][:2]
        np.testing.assert_array_equal(one.layers[layer].right, 1 - other.layers[layer].right)


def test_differences_are_paired_by_text():
    source = np.random.default_rng(2)
    labels = source.integers(2, size=300)
    good = source.normal(size=(300, 5)) + labels[:, None]
    data = numbered(200, labels, labels[200:])
    models = [probe(name, {'0': each}, data) for name, each in (('one', good), ('same', good), ('none', 0 * good))]
    found = Probes(data, models)
    one, same, none = found.record()['models']
    assert one['difference'] is None
    assert same['difference'] == [0.0, 0.0, 0.0]
    value, low, high = none['difference']
    assert value == pytest.approx(none['layers']['0']['accuracy'][0] - one['layers']['0']['accuracy'][0])
    assert low < value < high < 0
    assert none['layers']['0']['accuracy'][0] == found.record()['majority']
    assert [table.title for table in found.tables()][1:] == ['Layers chosen on the texts held out of training']


def test_lengths_have_classes_of_about_equal_size_named_after_their_least():
    texts = [' '.join(number * ['word']) for number in range(1, 61)]
    found = made_from(TASKS['length'], {'train': texts, 'validation': ['one, two: three', *texts]})
    counts = Counter(found['train'][1])
    assert len(counts) == probing_tasks.LENGTHS
    assert max(counts.values()) - min(counts.values()) <= 1
    for text, label in zip(*found['train'], strict=True):
        assert len(text.split()) >= int(label)
    assert found['validation'][1][0] == '1'


def test_every_class_of_a_made_task_has_a_training_text(monkeypatch):
    monkeypatch.setattr(probing_tasks, 'FREQUENT', 0)
    train = ['one two three four five', 'six seven eight nine ten', 'a b c d e f g h i']
    lengths = made_from(TASKS['length'], {'train': train, 'validation': ['short', 'a b c d e f']})
    assert {*lengths['validation'][1]} <= {*lengths['train'][1]} == {'5', '9'}
    words = made_from(TASKS['word'], {'train': ['x y', 'x', 'z y'], 'validation': ['y', 'x']})
    assert words['validation'] == (['x'], ['x'])  # y is alone in no training text


def test_half_of_the_texts_have_two_neighbours_exchanged_and_nothing_else():
    texts = [*TEXTS, 'alone', 'same same', 'spaces   between words', 'x y']
    (kept, labels) = TASKS['swapped'](texts)(texts)
    usable = [text for text in texts if text not in ('alone', 'same same')]
    assert len(kept) == len(usable)
    for before, after, label in zip(usable, kept, labels, strict=True):
        apart = [
            place for place, (one, other) in enumerate(zip(before.split(), after.split(), strict=True)) if one != other
        ]
        assert len(apart) == {'original': 0, 'swapped': 2}[label]
        assert sorted(before.split()) == sorted(after.split())
        assert '  ' not in after
        if apart:
            assert apart[1] == apart[0] + 1
    assert abs(labels.count('swapped') - labels.count('original')) <= 2
    assert (kept, labels) == TASKS['swapped'](texts)(texts)


def test_a_text_with_one_of_the_asked_words_has_it_as_its_class(monkeypatch):
    monkeypatch.setattr(probing_tasks, 'FREQUENT', 1)
    monkeypatch.setattr(probing_tasks, 'CONTENT', 2)
    train = ['The a b', 'the a c', 'the c', 'the A', 'the d']  # frequencies: the 5, a 3, c 2
    texts, labels = TASKS['word'](train)([*train, 'Nothing', 'C c'])
    assert list(zip(texts, labels, strict=True)) == [
        ('The a b', 'a'),
        ('the c', 'c'),
        ('the A', 'a'),
        ('C c', 'c'),
    ]


def test_a_split_without_texts_for_a_task_is_refused():
    with pytest.raises(UserError, match="no validation text fits the task 'swapped', of 1"):
        made_from(TASKS['swapped'], {'train': TEXTS, 'validation': ['alone']})
