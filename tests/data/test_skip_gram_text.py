# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Text for skip-grams: words with their frequency, and noise drawn by the power of their counts."""

from collections import Counter

import numpy as np
import pytest

from saccade.data.pipeline import eval_batches
from saccade.data.rows.pack import Packed
from saccade.data.text.skip_gram import SkipGramText
from saccade.data.tokenizer.file import open_tokenizer
from saccade.data.tokenizer.word import Word
from saccade.types import Data, Part, UserError

COUNTS = {'the': 4000, 'word': 800, 'stands': 300, 'rarely': 20}
M = 50


def data(folder, counts=COUNTS, vocabulary=40, **changes):
    words = np.random.default_rng(0).permutation([word for word, count in counts.items() for _ in range(count)])
    (folder / 'text.txt').write_text('\n\n'.join(' '.join(words[at : at + 40]) for at in range(0, len(words), 40)))
    given = dict(tokenizer=Part(Word).replace(vocabulary=vocabulary), context_length=16, pack=Part(Packed), noise=M)
    return SkipGramText(path=str(folder / 'text.txt'), **given | changes)


def rows(prepared, split='train'):
    source = prepared.splits[split].rows
    return [source[row] for row in range(len(source))]


def test_a_batch_has_the_shapes_that_were_said(tmp_path):
    made = data(tmp_path)
    assert isinstance(made, Data)
    split = made.prepare(tmp_path / 'cache').splits['validation']
    batch = next(eval_batches(split, len(split.rows) + 3))
    like = made.batch_like(len(split.rows) + 3)
    assert {name: (each.shape, each.dtype) for name, each in batch.items()} == {
        name: (each.shape, each.dtype) for name, each in like.items()
    }


def test_the_frequency_of_a_word_is_its_share_and_that_of_what_is_no_word_nothing(tmp_path):
    prepared = data(tmp_path, vocabulary=5).prepare(tmp_path / 'cache')
    counts = Counter(prepared.splits['train'].rows.text.tokens.tolist())
    special = {*prepared.processor.specials.values(), *prepared.processor.unknown}
    assert len(special) == 2  # the end of a document, and words that are not in the vocabulary
    total = sum(count for token, count in counts.items() if token not in special)
    for row in rows(prepared):
        expected = [0 if token in special else counts[token] / total for token in row['tokens']]
        np.testing.assert_allclose(row['frequency'], expected, rtol=1e-6)


@pytest.mark.parametrize('power', [0.0, 0.75, 1.0])
def test_noise_is_drawn_by_the_power_of_the_counts(power, tmp_path):
    prepared = data(tmp_path, power=power).prepare(tmp_path / 'cache')
    tokens = prepared.splits['train'].rows.text.tokens
    drawn = np.bincount(np.concatenate([row['noise'] for row in rows(prepared)]), minlength=prepared.processor.size)
    special = [*prepared.processor.specials.values(), *prepared.processor.unknown]
    words = [token for token in range(prepared.processor.size) if token not in special]
    weights = np.array([(tokens == word).sum() for word in words]) ** power
    assert (tokens == special[0]).any()
    assert not drawn[special].any()
    np.testing.assert_allclose(drawn[words] / drawn.sum(), weights / weights.sum(), atol=0.015)


def test_noise_is_a_function_of_the_row_and_another_in_every_row(tmp_path):
    first, again = (data(tmp_path).prepare(tmp_path / name) for name in ('a', 'b'))
    drawn = [row['noise'].tolist() for split in ('train', 'validation') for row in rows(first, split)]
    assert drawn == [row['noise'].tolist() for split in ('train', 'validation') for row in rows(again, split)]
    assert len(set(map(tuple, drawn))) == len(drawn)


def test_a_padding_row_has_no_word(tmp_path):
    source = data(tmp_path).prepare(tmp_path / 'cache').splits['train'].rows
    assert not source.padding()['segments'].any()
    assert source.padding()['noise'].shape == (M,)


def test_a_text_without_a_word_of_the_vocabulary_is_refused(tmp_path):
    made = data(tmp_path)
    first = made.prepare(tmp_path / 'cache').processor
    first.save(tmp_path)
    (tmp_path / 'text.txt').write_text('\n\n'.join(20 * ['not one of these'] * 10))
    with pytest.raises(UserError, match='no word of the training split is in the vocabulary'):
        made.prepare(tmp_path / 'cache', open_tokenizer(tmp_path / 'tokenizer.json'))
