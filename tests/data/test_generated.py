# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generated pairs: right, a function of their number, and none of validation in training."""

import datetime
import itertools
import re

import numpy as np
import pytest

from saccade.data.pipeline import train_batches
from saccade.data.synthetic.dates import LANGUAGES, Dates
from saccade.data.synthetic.drawing import Draws
from saccade.data.synthetic.generated import Generated, GeneratedPair
from saccade.data.synthetic.names import CONSONANTS, ENDINGS, THINGS, VERBS, VOWELS, Names
from saccade.data.synthetic.sequences import Addition, Copy, Pointer, Recall, Reverse, Sort
from saccade.data.tokenizer.character import Character
from saccade.data.tokenizer.word import Word
from saccade.types import AnyLength, Bucketed, Data, Part, UserError

SHORT = dict(symbols=5, shortest=1, longest=4)


def data(generator, **changes):
    sizes = dict(source_context_length=48, context_length=48, train=120, validation=20)
    tokenizer, made = Part(Character).replace(specials=('[UNK]',)), Part(generator[0]).replace(**generator[1])
    return Generated(tokenizer=tokenizer, generator=made, **(sizes | changes))


def pairs(prepared, split):
    rows = prepared.splits[split]
    return [(rows.sources[row], rows.references[row]) for row in range(len(rows.rows))]


def numbers(text):
    return [int(word) for word in text.split()]


def added(source, target):
    a, b = source.split('+')
    assert int(a) + int(b) == int(target)
    assert len(a) <= 3
    assert len(b) <= 3


def recalled(source, target):
    shown, asked = source.split(' ? ')
    words = shown.split()
    values = dict(zip(words[::2], words[1::2], strict=True))
    assert len(values) == 4
    assert [values[key] for key in asked.split()] == target.split()
    assert len(target.split()) == 2


def pointed(source, target):
    *words, pointer = source.split()
    assert len(words) == 6
    assert words[int(pointer.removeprefix('@'))] == target


def declined(source, target):
    verb, _, thing, preposition, name = source.split()
    assert target == f'{THINGS[thing]} {name}{ENDINGS[preposition]} {VERBS[verb]}'
    assert re.fullmatch(f'([{CONSONANTS}][{VOWELS}]){{2,3}}', name.lower())
    assert name.istitle()


def same(order):
    def check(source, target):
        assert order(numbers(source)) == numbers(target)
        assert 1 <= len(numbers(target)) <= 4
        assert max(numbers(target)) < 5

    return check


KINDS = [
    ((Copy, SHORT), same(list)),
    ((Reverse, SHORT), same(lambda words: words[::-1])),
    ((Sort, SHORT), same(sorted)),
    ((Addition, dict(digits=3)), added),
    ((Pointer, dict(symbols=5, length=6)), pointed),
    ((Recall, dict(keys=6, values=5, pairs=4, asked=2)), recalled),
    ((Names, dict(shortest=2, longest=3)), declined),
    ((Dates, {}), lambda source, target: datetime.date.fromisoformat(target)),
]
each_kind = pytest.mark.parametrize(('generator', 'right'), KINDS, ids=[kind[0][0].__name__ for kind in KINDS])


@each_kind
def test_every_target_is_right_and_none_of_validation_is_in_training(generator, right, tmp_path):
    prepared = data(generator).prepare(tmp_path)
    for split, count in (('train', 120), ('validation', 20)):
        found = pairs(prepared, split)
        assert len(found) == count
        for source, target in found:
            right(source, target)
    train, validation = (pairs(prepared, split) for split in ('train', 'validation'))
    assert not set(train) & set(validation)
    if generator[0] not in (Recall, Addition, Pointer):  # of which the question is held out, and not the answer
        assert not {target for _, target in train} & {target for _, target in validation}
    assert len(set(train)) > 40


@each_kind
def test_a_row_is_a_function_of_its_number_and_the_seed(generator, right, tmp_path):
    few = pairs(data(generator).prepare(tmp_path / 'a'), 'train')
    more = pairs(data(generator, train=150).prepare(tmp_path / 'b'), 'train')
    other = pairs(data(generator, seed=1).prepare(tmp_path / 'c'), 'train')
    assert more[: len(few)] == few
    assert other != few


def test_a_sum_held_out_is_so_in_either_order(tmp_path):
    prepared = data((Addition, dict(digits=1)), train=150, held_out=0.3).prepare(tmp_path)
    train, validation = ({source for source, _ in pairs(prepared, split)} for split in ('train', 'validation'))
    assert not train & {'+'.join(reversed(source.split('+'))) for source in validation}


def test_a_sum_may_be_written_backwards():
    pair = Addition(digits=3, backwards=True).pair(Draws(0, 0, 0))
    a, b = map(int, pair.source.split('+'))
    assert int(pair.target[::-1]) == a + b


def test_no_name_of_validation_is_in_training_with_any_other_word(tmp_path):
    prepared = data((Names, dict(shortest=1, longest=1)), train=400, held_out=0.3).prepare(tmp_path)
    train, validation = ({source.split()[-1] for source, _ in pairs(prepared, split)} for split in prepared.splits)
    assert len(train) > 40
    assert not train & validation


def test_numbers_drawn_are_the_same_everywhere_and_spread_evenly():
    # From NumPy's Philox4x64 at counter (0, 0, 0, 0), key 0: the first block of four, read from the end of 64.
    raw = np.random.Philox(key=0, counter=[0, 0, 0, 0]).random_raw(64).tolist()
    draws = Draws(0, 0, 0)
    assert [draws.below(1000) for _ in range(64)] == [number % 1000 for number in raw[::-1]]
    counts = np.bincount([Draws(3, 1, row).below(10) for row in range(2000)], minlength=10)
    assert counts.min() > 150
    assert sorted(Draws(0, 0, 5).sample(range(8), 8)) == list(range(8))


@pytest.mark.parametrize(('least', 'most', 'starts'), [(1, 200, 8), (1, 7, 3), (3, 11, 2), (3, 12, 3), (5, 5, 1)])
def test_each_doubling_is_drawn_as_often(least, most, starts):
    drawn = [Draws(0, 0, row).of_a_doubling(least, most) for row in range(2000)]
    assert (min(drawn), max(drawn)) == (least, most)
    counts = np.bincount([(number // least).bit_length() - 1 for number in drawn])
    assert len(counts) == starts
    np.testing.assert_allclose(counts / 2000, 1 / starts, atol=0.04)


def test_rows_of_one_seed_draw_apart():
    assert (
        len({tuple(Draws(0, split, row).below(1 << 30) for _ in range(1)) for split in (0, 1) for row in range(500)})
        == 1000
    )


WRITTEN = {
    'en': ['3 March 1999', 'the third of March 1999', 'Mar 3, 1999', 'Wednesday the third of March 1999'],
    'de': ['3. März 1999', 'am dritten März 1999', '03.03.1999', 'Mittwoch, der 3. März 1999'],
    'fr': ['le trois mars 1999', '3 mars 1999', 'le mercredi trois mars 1999'],
    'it': ['il tre marzo 1999', 'mercoledì 3 marzo 1999', '3 mar 1999'],
    'es': ['el tres de marzo de 1999', 'miércoles, 3 de marzo de 1999'],
}  # fmt: skip


@pytest.mark.parametrize('code', WRITTEN)
def test_a_date_is_written_as_people_of_a_language_write_it(code):
    language = LANGUAGES[code]
    date = datetime.date(1999, 3, 3)
    assert {*WRITTEN[code]} <= {language.written(date, form) for form in language.forms}
    assert [len(each) for each in (language.months, language.short, language.weekdays, language.days)] == [
        12,
        12,
        7,
        31,
    ]


def test_the_first_of_a_month_and_the_teens_have_their_own_letters():
    def form(code, day, form):
        return LANGUAGES[code].written(datetime.date(2000, 1, day), form)

    assert [form('en', day, '{d}{th}') for day in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31)] == [
        '1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '22nd', '23rd', '31st',
    ]  # fmt: skip
    assert [form('fr', day, '{d}{er}') for day in (1, 2)] == ['1er', '2']


@pytest.mark.long
def test_each_form_of_each_language_tells_one_date_from_another():
    dates = [datetime.date(year, month, day) for year in (1999, 2001) for month in range(1, 13) for day in range(1, 29)]
    for language in LANGUAGES.values():
        for form in language.forms:
            assert len({language.written(date, form).lower() for date in dates}) == len(dates), form


def test_forms_of_numbers_alone_mean_one_date(tmp_path):
    meant = {}
    for source, target in pairs(data((Dates, {}), train=500).prepare(tmp_path), 'train'):
        assert meant.setdefault(source, target) == target


@pytest.mark.long
def test_every_language_and_form_occurs(tmp_path):
    sources = ' '.join(source for source, _ in pairs(data((Dates, {}), train=800).prepare(tmp_path), 'train'))
    for sign in ('the twenty-', 'der ', 'le ', 'il ', ' de ', '/', '.', 'février', 'März', 'THE'):
        assert (sign in sources) == (sign != 'THE'), sign


def test_it_is_data_and_its_batches_have_the_shapes_it_says(tmp_path):
    made = data((Copy, SHORT))
    assert isinstance(made, Data)
    row = made.prepare(tmp_path).splits['train'].rows[0]
    assert {name: (2, *np.shape(each)) for name, each in row.items()} == {
        name: each.shape for name, each in made.batch_like(2).items()
    }


def test_pairs_lie_in_the_bucket_of_the_shortest_rows_that_hold_them(tmp_path):
    made = data((Copy, dict(symbols=5, shortest=1, longest=20)), buckets=(8, 16, 64))
    prepared = made.prepare(tmp_path)
    train = prepared.splits['train']
    seen = []
    for bucket, length, shorter in zip(train.buckets, (8, 16, 48), (0, 8, 16), strict=True):
        assert bucket.times == 48 / length
        for row in (bucket.rows[row] for row in range(len(bucket.rows))):
            assert row['source'].shape == (length,)
            assert row['tokens'].shape == (length + 1,)
            assert shorter < np.count_nonzero(row['source_segments']) <= length
            whole = train.rows[int(row['row'])]
            assert {name: whole[name][: np.size(part)].tolist() for name, part in row.items() if np.ndim(part)} == {
                name: part.tolist() for name, part in row.items() if np.ndim(part)
            }
            seen.append(int(row['row']))
    assert sorted(seen) == list(range(120))
    assert not prepared.splits['validation'].buckets


@pytest.mark.parametrize('kind', [Copy, Reverse, Sort])
def test_its_validation_can_be_of_one_length(kind, tmp_path):
    made = Part(Generated).replace(
        generator=Part(kind).replace(symbols=5, shortest=1, longest=20),
        tokenizer=Part(Word).replace(vocabulary=8),
        **dict(source_context_length=21, context_length=21, train=120, validation=20, buckets=(8,)),
    )
    assert isinstance(made(), AnyLength)
    tokenizer = made().prepare(tmp_path).processor
    for length in (5, 40):
        other = Generated.at_length(made, length)()
        shapes = other.batch_like(2)
        assert (shapes['source'].shape, shapes['tokens'].shape) == ((2, length), (2, length + 1))
        split = other.prepare(tmp_path, tokenizer).splits['validation']
        assert split.targets == 20 * length
        assert {len(source.split()) for source in split.sources} == {length - 1}


def test_a_length_without_a_word_is_refused():
    with pytest.raises(UserError, match='a sequence of 1 token has no word'):
        Copy.at_length(Part(Copy), 1)


def test_a_generator_without_lengths_has_no_validation_of_one_length():
    made = Part(Generated).replace(
        generator=Part(Addition).replace(digits=3),
        tokenizer=Part(Character),
        **dict(source_context_length=21, context_length=21, train=120, validation=20),
    )
    with pytest.raises(UserError, match=r'data\.synthetic\.sequences:Addition has no lengths to choose from'):
        Generated.at_length(made, 30)


@pytest.mark.long
def test_the_batches_of_buckets_have_the_shapes_that_are_said(tmp_path):
    made = data((Copy, dict(symbols=5, shortest=1, longest=20)), buckets=(8, 16))
    assert isinstance(made, Bucketed)
    said = made.batches_like(4)
    assert said[0] == made.batch_like(4)
    batches = train_batches(made.prepare(tmp_path).splits['train'], 4, 0, 0)
    found = {tuple(batch['source'].shape) for batch in itertools.islice(batches, 20)}
    assert found == {like['source'].shape for like in said} == {(4, 48), (12, 16), (24, 8)}


class Same:
    version = 1

    def pair(self, draws):
        return GeneratedPair('a', 'b', 'c')


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: Dates(languages=('en', 'xx')), "no language 'xx'; there are en, de, fr, it, es"),
        (lambda: Dates(first=2000, last=1999), 'years of four digits'),
        (lambda: Copy(symbols=3, shortest=4, longest=3), 'longest is 3, below shortest, 4'),
        (lambda: Names(shortest=4, longest=3), 'longest is 3, below shortest, 4'),
        (lambda: Recall(keys=2, values=1, pairs=3), '1 queries of 3 pairs of 2 keys'),
        (
            lambda: data((Copy, SHORT), buckets=(8, 8)),
            r'data.buckets: \[8, 8\] must be increasing lengths of 1',
        ),
        (lambda: data((Copy, SHORT), buckets=(0,)), r'data.buckets: \[0\] must be increasing lengths of 1 or more'),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(UserError, match=message):
        make()


def test_a_generator_of_one_pair_is_refused(tmp_path):
    with pytest.raises(UserError, match='too few distinct pairs: none is for'):
        data((Same, {})).prepare(tmp_path)
