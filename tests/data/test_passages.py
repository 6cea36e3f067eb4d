# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of one passage or of two: what follows what, what is of which document, and what a row says of its tokens."""

import json
import tracemalloc

import numpy as np
import pytest

from saccade.build import build
from saccade.data.encoder import pairing
from saccade.data.encoder.pairing import NextSentence, OnePassage, SentenceOrder
from saccade.data.encoder.passages import PassageRows, unigram_nats
from saccade.data.pipeline import eval_batches, train_batches
from saccade.data.rows.frame import Frame
from saccade.data.split import Split
from saccade.data.tokenizer.tokenizer import BERT
from saccade.types import IGNORED, UserError

CONTEXT = 24
TOKENIZER = {'use': 'data.tokenizer.word:Word', 'vocabulary': 2000, 'end': None, 'specials': list(BERT)}
FAR_APART = 2.3  # of Kolmogorov's distribution: by chance once in 20,000 times
PAD, UNKNOWN, CLS, SEP, MASK = range(5)
DOCUMENTS = [
    ''.join(f'd{number}s{sentence} ' + ' '.join(f'd{number}w{word}' for word in range(sentence % 4)) + '. '
            for sentence in range(30))
    for number in range(6)
]  # fmt: skip


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp('text')
    for number, text in enumerate(DOCUMENTS):
        (path / f'{number}.txt').write_text(text)
    return path


def prepared(folder, tmp_path, pairing='NextSentence', **changes):
    spec = {
        'use': 'data.encoder.passages:Passages',
        'tokenizer': TOKENIZER,
        'context_length': CONTEXT,
        'pairing': {'use': f'data.encoder.pairing:{pairing}'},
        'path': str(folder),
        'validation': 0.4,
    }
    return build(spec | changes)().prepare(tmp_path)


def texts(rows, number):
    """The words of each text of a row, read off the row itself."""
    row = rows[number]
    ids = row['tokens'][row['segments'] > 0]
    assert ids[0] == CLS
    assert ids[-1] == SEP
    return np.split(ids[1:-1], np.flatnonzero(ids[1:-1] == SEP))


def sentences(count, length=4, documents=3):
    """Documents of so many sentences of so many tokens, one after another in the stream."""
    starts = length * np.arange(count * documents).reshape(documents, count)
    return [np.stack([row, row + length], axis=-1) for row in starts]


def many(pairing):
    return [pair for seed in range(40) for pair in pairing.pairs(sentences(10), 20, np.random.default_rng(seed))]


def document_of(span, count=10, length=4):
    return span[0] // (count * length), (span[1] - 1) // (count * length)


@pytest.mark.parametrize('pairing', [OnePassage(), NextSentence(), SentenceOrder()])
@pytest.mark.parametrize('room', [3, 10, 41, 1000])
def test_rows_fit_and_spans_stay_within_documents(pairing, room):
    found = list(pairing.pairs(sentences(10), room, np.random.default_rng(0)))
    assert found
    for pair in found:
        lengths = [stop - start for start, stop in (pair.first, pair.second)[: pairing.texts]]
        assert sum(lengths) <= room
        assert min(lengths) > 0
        for span in (pair.first, pair.second)[: pairing.texts]:
            assert len(set(document_of(span))) == 1


def test_half_of_the_pairs_follow_each_other_and_half_are_of_another_document():
    found = [
        pair for seed in range(40) for pair in NextSentence().pairs(sentences(10), 20, np.random.default_rng(seed))
    ]
    share = np.mean([pair.label for pair in found])
    assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(len(found))
    for pair in found:
        same = document_of(pair.first)[0] == document_of(pair.second)[0]
        assert same == (pair.label == 0)
        assert pair.label == 1 or pair.second[0] == pair.first[1]


@pytest.mark.parametrize('pairing', [NextSentence(), SentenceOrder()])
def test_a_label_does_not_follow_from_lengths(pairing):
    """Neither from those of either text nor from both together: no threshold does better than chance."""
    drawn = np.random.default_rng(0)
    stops = np.cumsum(drawn.integers(2, 16, (1000, 12))).reshape(1000, 12)
    starts = np.concatenate([[0], stops.ravel()[:-1]]).reshape(1000, 12)
    found = list(pairing.pairs(list(np.stack([starts, stops], axis=-1)), 60, drawn))
    labels = np.array([pair.label for pair in found])
    first, second = (np.array([stop - start for start, stop in spans]) for spans in list(zip(*found, strict=True))[:2])
    for lengths in (first, second, first + second):
        above = [(lengths[labels == label][:, None] > np.arange(60)).mean(axis=0) for label in (0, 1)]
        assert np.abs(above[0] - above[1]).max() < FAR_APART / np.sqrt(len(found) / 4)


def test_false_seconds_begin_and_end_where_sentences_do_as_true_ones():
    found = [
        pair for seed in range(40) for pair in NextSentence().pairs(sentences(10), 20, np.random.default_rng(seed))
    ]
    false = [pair.second for pair in found if pair.label]
    assert len(false) > 100
    assert all(start % 4 == 0 and stop % 4 == 0 for start, stop in false)
    assert len({start for start, _ in false}) > 20


def test_where_no_other_document_has_a_second_text_as_long_a_longer_one_is_cut_or_the_pair_is_true():
    long, short = np.array([[0, 30], [30, 60]]), np.array([[60, 62], [62, 64]])
    found = [
        pair for seed in range(40) for pair in NextSentence().pairs([long, short], 60, np.random.default_rng(seed))
    ]
    seconds = {(pair.first, pair.label): pair.second for pair in found}
    assert seconds == {((0, 30), 0): (30, 60), ((60, 62), 0): (62, 64), ((60, 62), 1): (30, 32)}


def test_sentences_are_in_order_or_swapped():
    found = [
        pair for seed in range(40) for pair in SentenceOrder().pairs(sentences(10), 20, np.random.default_rng(seed))
    ]
    share = np.mean([pair.label for pair in found])
    assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(len(found))
    for pair in found:
        assert pair.first[0] == pair.second[1] if pair.label else pair.second[0] == pair.first[1]


def test_passages_cover_the_documents_once_and_are_cut_where_sentences_end():
    found = list(OnePassage().pairs(sentences(10), 10, np.random.default_rng(0)))
    covered = np.concatenate([np.arange(*pair.first) for pair in found])
    np.testing.assert_array_equal(np.sort(covered), np.arange(120))
    assert all(pair.first[0] % 4 == 0 and pair.first[1] % 4 == 0 for pair in found)


def test_texts_are_cut_where_a_sentence_ends():
    found = list(SentenceOrder().pairs(sentences(10), 20, np.random.default_rng(0)))
    assert all(pair.first[1] % 4 == 0 for pair in found)


def test_false_pairs_of_a_single_document_are_from_other_passages_of_it_and_that_is_said_once(caplog):
    pairing._say_one_document.cache_clear()
    found = [
        pair
        for seed in range(40)
        for pair in NextSentence().pairs(sentences(50, documents=1), 20, np.random.default_rng(seed))
    ]
    share = np.mean([pair.label for pair in found])
    assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(len(found))
    for pair in found:
        follows = pair.second[0] == pair.first[1]
        assert follows if pair.label == 0 else not follows
    (message,) = caplog.messages
    assert message.startswith('data.pairing: there is only one document, so false pairs are from other passages of it')


def test_a_row_is_two_framed_texts(folder, tmp_path):
    rows = prepared(folder, tmp_path).splits['train'].rows
    row = rows[3]
    used = int((row['segments'] > 0).sum())
    first = rows.pairs[3, 1] - rows.pairs[3, 0]
    np.testing.assert_array_equal(row['positions'][:used], np.arange(used))
    np.testing.assert_array_equal(np.flatnonzero(row['tokens'][:used] == SEP), [first + 1, used - 1])
    np.testing.assert_array_equal(
        row['types'], [*(first + 2) * [0], *(used - first - 2) * [1], *(CONTEXT - used) * [0]]
    )
    np.testing.assert_array_equal(row['words'] > 0, (row['tokens'] > MASK) & (row['segments'] > 0))
    assert row['mask'] == MASK
    assert row['row'] == 3


def test_words_are_numbered_through_both_texts(folder, tmp_path):
    tokenizer = {'use': 'data.tokenizer.bpe:BPE', 'vocabulary': 280, 'end': None, 'specials': list(BERT)}
    prepared_ = prepared(folder, tmp_path, tokenizer=tokenizer)
    rows, decode = prepared_.splits['train'].rows, prepared_.processor.decode
    sizes = set()
    for row in (rows[number] for number in range(len(rows))):
        assert set(np.diff(row['words'][row['words'] > 0])) <= {0, 1}
        inside = [row['tokens'][row['words'] == number] for number in range(2, int(row['words'].max()))]
        assert all(len(decode(word).strip().split()) <= 1 for word in inside)
        sizes |= {len(word) for word in inside}
    assert sizes == {1, 2}  # as 12 is


def test_no_document_leaks_into_the_other_split(folder, tmp_path):
    found = prepared(folder, tmp_path)
    names = [
        {word.partition('s')[0].partition('w')[0] for word in found.processor.decode(split.rows.tokens).split()}
        for split in found.splits.values()
    ]
    assert not names[0] & (names[1] - {'.'})


def test_the_same_again_comes_from_the_cache(folder, tmp_path):
    first, again = (prepared(folder, tmp_path).splits['train'].rows for _ in range(2))
    np.testing.assert_array_equal(first.pairs, again.pairs)
    other = prepared(folder, tmp_path, copies=3).splits['train'].rows
    assert len(other) == pytest.approx(3 * len(first), rel=0.1)
    assert not np.array_equal(other.pairs[: len(first)], other.pairs[len(first) : 2 * len(first)])


def test_one_file_is_divided_into_documents(tmp_path):
    (tmp_path / 'all.txt').write_text('\n\n'.join(DOCUMENTS))
    found = prepared(tmp_path / 'all.txt', tmp_path / 'cache', divide='\n\n')
    assert len(found.splits['train'].rows) > 10
    whole = prepared(tmp_path / 'all.txt', tmp_path / 'cache')
    assert {*whole.splits['train'].rows.pairs[:, -1]} == {0, 1}  # true and false pairs, of a single document


def test_batches_have_the_shapes_that_were_said(folder, tmp_path):
    spec = {
        'use': 'data.encoder.passages:Passages',
        'tokenizer': TOKENIZER,
        'context_length': CONTEXT,
        'pairing': {'use': 'data.encoder.pairing:OnePassage'},
        'path': str(folder),
    }
    data = build(spec)()
    said = {name: (leaf.shape, leaf.dtype) for name, leaf in data.batch_like(8).items()}
    splits = data.prepare(tmp_path).splits
    batch = next(train_batches(splits['train'], 8, 0, 0))
    assert {name: (array.shape, array.dtype) for name, array in batch.items()} == said
    *_, last = eval_batches(splits['validation'], 8)
    assert {name: (array.shape, array.dtype) for name, array in last.items()} == said
    assert (batch['label'] == IGNORED).all()
    assert not batch['types'].any()


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'tokenizer': {'use': 'data.tokenizer.byte:Byte'}}, r"no special token '\[CLS\]' or '<s>'"),
        ({'context_length': 3}, 'no room'),
        ({'copies': 0}, 'copies must be at least 1'),
        ({'divide': '('}, 'not a regular expression'),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(folder, tmp_path, changes, words):
    with pytest.raises(UserError, match=words) as error:
        prepared(folder, tmp_path, **changes)
    assert '\n' not in str(error.value)


def test_a_row_that_starts_inside_a_word_takes_the_rest_of_it_for_its_first_word(tmp_path):
    (tmp_path / 'text').mkdir()
    for number in range(6):
        (tmp_path / 'text' / f'{number}.txt').write_text('abc' * 40)
    letters = {'use': 'data.tokenizer.character:Character', 'end': None, 'specials': list(BERT)}
    rows = prepared(tmp_path / 'text', tmp_path, 'OnePassage', tokenizer=letters).splits['train'].rows
    assert len(rows) > 12  # so many rows of each document that all but the first start inside its only word
    for row in (rows[number] for number in range(len(rows))):
        np.testing.assert_array_equal(row['words'], row['tokens'] > MASK)


def split_of(tokens, lengths, labels, texts=2):
    pairs = np.array([(0, 1, 0, length, label) for length, label in zip(lengths, labels, strict=True)])
    rows = PassageRows(np.array(tokens), np.array([]), pairs, Frame.of_bert(CONTEXT, CLS, SEP), MASK, texts)
    return Split(rows=rows, targets=len(rows))


def test_the_baseline_knows_frequencies_in_training_and_what_lengths_alone_say():
    train = split_of([1, 1, 1, 2], [3, 3, 5, 5, 5], [0, 0, 1, 1, 0])
    found = unigram_nats(train, split_of([1, 2], [3, 5, 5, 9], [0, 0, 1, 1]), 3)
    assert found == pytest.approx(
        {
            'masked_loss': -np.log(3 / 5 * 1 / 5) / 2,  # of five: the third token counts as seen once
            'pair_loss': -np.log(3 / 5 * 2 / 5) / 2,
            'pair_accuracy': 1 / 2,
            'length_accuracy': 1 / 2,
        }
    )
    assert unigram_nats(train, split_of([1], [3, 5], [0, 1]), 3)['length_accuracy'] == 1
    assert set(unigram_nats(split_of([1], [0], [IGNORED], 1), split_of([1], [0], [IGNORED], 1), 3)) == {'masked_loss'}


@pytest.mark.long
def test_memory_does_not_hold_the_tokens(tmp_path):
    peaks = []
    for count in (100, 800):
        path = tmp_path / f'{count}.jsonl'
        path.write_text(''.join(json.dumps({'text': f'{n}' + 'abcd ' * 500}) + '\n' for n in range(count)))
        letters = {'use': 'data.tokenizer.character:Character', 'end': None, 'specials': list(BERT)}
        tracemalloc.start()
        try:
            prepared(path, tmp_path, 'OnePassage', tokenizer=letters, context_length=512)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < peaks[0] + 1e6  # of 1.75 million tokens more
