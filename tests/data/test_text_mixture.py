# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixtures of texts: proportions, epochs of each source, resuming, validation, and what is prepared again."""

import itertools

import numpy as np
import pytest

from saccade.baseline.ngram import trigram_nats
from saccade.build import build
from saccade.data.pipeline import eval_batches, train_batches
from saccade.types import UserError


@pytest.fixture
def mixture(tmp_path):
    """Function from (letter, number of documents, weight) of each source to its prepared mixture."""

    def prepare(*sources, **settings):
        specs = []
        for letter, count, weight in sources:
            folder = tmp_path / f'{letter}{count}'
            folder.mkdir(exist_ok=True)
            for split, number in (('train', count), ('valid', count // 4)):
                lines = (f'{{"text": "{letter * 15}"}}\n' for _ in range(number))
                (folder / f'{split}.jsonl').write_text(''.join(lines))
            specs.append(dict(use='data.text.mixture:TextSource', path=str(folder), weight=float(weight)))
        spec = dict(
            use='data.text.mixture:TextMixture',
            sources=specs,
            context_length=16,
            tokenizer=dict(use='data.tokenizer.character:Character'),
            pack=dict(use='data.rows.pack:Padded'),
        )
        return build(spec | settings)().prepare(tmp_path / 'cache')

    return prepare


def letters(prepared, batches):
    """The letter of each row, batch by batch."""
    return [[prepared.processor.decode(row[1:2]) for row in batch['tokens']] for batch in batches]


def train(prepared, count, start=0, **share):
    batches = train_batches(prepared.splits['train'], 8, 0, start, **share)
    found = letters(prepared, itertools.islice(batches, count))
    batches.close()
    return found


@pytest.mark.long
def test_rows_are_in_proportion_to_the_weights_in_every_batch(mixture):
    prepared = mixture(('a', 40, 3), ('b', 8, 1))
    assert [batch.count('a') for batch in train(prepared, 20)] == [6] * 20


def test_each_source_has_epochs_of_its_own(mixture):
    prepared = mixture(('a', 16, 1), ('b', 4, 1))
    split = prepared.splits['train']
    shares = split.buckets[0].shares
    assert [(share.rows, share.weight) for share in shares] == [(16, 1), (4, 1)]
    batches = train_batches(split, 8, 0, 0)
    seen = np.concatenate([batch['tokens'] for batch in itertools.islice(batches, 4)])
    batches.close()
    assert len(seen) == 32
    assert sum(prepared.processor.decode(row[1:2]) == 'b' for row in seen) == 16


@pytest.mark.long
def test_resuming_is_exact_and_shares_of_processes_join(mixture):
    prepared = mixture(('a', 40, 2), ('b', 8, 1))
    whole = train(prepared, 9)
    assert train(prepared, 4, start=5) == whole[5:]
    halves = [train(prepared, 9, process=process, processes=2) for process in (0, 1)]
    assert [first + second for first, second in zip(*halves, strict=True)] == whole


def test_validation_is_all_rows_in_their_natural_proportion_from_the_first_batch(mixture):
    prepared = mixture(('a', 96, 1), ('b', 32, 9))
    split = prepared.splits['validation']
    found = letters(prepared, eval_batches(split, 8))
    assert [batch.count('a') for batch in found] == [6] * 4
    assert split.documents == 32
    assert split.bytes == 32 * 15
    assert split.targets == 32 * 16


def test_new_weights_prepare_nothing_and_a_new_source_only_itself(mixture, tmp_path):
    tokenizer = dict(tokenizer=dict(use='data.tokenizer.byte:Byte'))
    folders = lambda: {path.name for path in (tmp_path / 'cache').iterdir()}  # noqa: E731
    mixture(('a', 8, 1), ('b', 8, 1), **tokenizer)
    before = folders()
    mixture(('a', 8, 1), ('b', 8, 5), **tokenizer)
    assert folders() == before
    mixture(('a', 8, 1), ('b', 8, 5), ('c', 8, 1), **tokenizer)
    assert len([name for name in folders() - before if not name.startswith('tokenizer')]) == 1


def test_a_baseline_counts_all_sources(mixture):
    prepared = mixture(('a', 40, 1), ('b', 40, 1))
    alone = mixture(('a', 40, 1))
    nats = [trigram_nats(each.splits['train'], prepared.splits['validation'], 300) for each in (prepared, alone)]
    assert nats[0] < nats[1] - 1


def test_no_sources_are_refused(mixture):
    with pytest.raises(UserError, match='a mixture needs at least one source'):
        mixture()
