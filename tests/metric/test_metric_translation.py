# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: RUF001 (texts in other scripts)
"""What texts are worth: BLEU and chrF as sacrebleu has them, ROUGE and exact match by hand."""

import itertools
import math

import numpy as np
import pytest
import sacrebleu

from saccade.metric.exact import ExactMatch
from saccade.metric.rouge import ROUGE, in_order, shared, words
from saccade.metric.translation import BLEU, ChrF
from saccade.types import Estimate, TextMetric, UserError

NEAR = 1e-9
TEXTS = ['The cat sat on the mat .', 'a dog barked at us, loudly', 'Nothing is the same here', 'It rains in the north']
WANTED = ['The cat sat on a mat .', 'A dog barked at us loudly', 'Nothing is the same', 'It rains today in the north']


@pytest.mark.parametrize(
    ('metric', 'expected'),
    [
        (BLEU(), lambda: sacrebleu.corpus_bleu(TEXTS, [WANTED])),
        (BLEU(tokenize='none', lowercase=True), lambda: sacrebleu.corpus_bleu(
            TEXTS, [WANTED], tokenize='none', lowercase=True, force=True
        )),
        (ChrF(), lambda: sacrebleu.corpus_chrf(TEXTS, [WANTED])),
        (ChrF(words=2), lambda: sacrebleu.corpus_chrf(TEXTS, [WANTED], word_order=2)),
    ],
    ids=['13a', 'none', 'chrf', 'chrf++'],
)  # fmt: skip
def test_the_score_of_a_corpus_is_that_of_sacrebleu_with_an_interval_around_it(metric, expected):
    (found,) = metric(TEXTS, WANTED).values()
    assert found.value == pytest.approx(expected().score, rel=NEAR)
    assert 0 < found.low < found.value < found.high <= 100


def test_the_signature_says_what_was_counted():
    assert 'tok:none' in BLEU(tokenize='none', lowercase=True)(TEXTS, WANTED)['bleu'].signature
    assert 'case:lc' in BLEU(tokenize='none', lowercase=True)(TEXTS, WANTED)['bleu'].signature
    assert f'version:{sacrebleu.__version__}' in BLEU()(TEXTS, WANTED)['bleu'].signature
    assert 'nc:6|nw:0' in ChrF()(TEXTS, WANTED)['chrf'].signature


def test_bleu_by_hand():
    # Of 6 words 5 are right, of 5 pairs 3, of 4 triples 2 and of 3 quadruples 1; lengths are equal.
    found = BLEU(tokenize='none')(['a b c d x e'], ['a b c d e e'])['bleu']
    by_hand = 100 * math.prod((5 / 6, 3 / 5, 2 / 4, 1 / 3)) ** 0.25
    assert found.value == pytest.approx(by_hand, rel=NEAR)


def test_what_is_the_reference_has_all_and_no_text_is_refused():
    for metric in (BLEU(), ChrF(), ROUGE(), ExactMatch()):
        assert isinstance(metric, TextMetric)
        for found in metric(WANTED, WANTED).values():
            assert isinstance(found, Estimate)
            assert found.value == pytest.approx(100 if isinstance(metric, BLEU | ChrF) else 1)
        with pytest.raises(UserError, match='there are no'):
            metric([], [])


def test_a_tokenizer_that_sacrebleu_has_not_is_refused():
    with pytest.raises(UserError, match=r"has no '13b'; it has .*13a.*none"):
        BLEU(tokenize='13b')


def test_exact_match_is_a_share_and_minds_no_space_at_the_ends():
    found = ExactMatch()(['a', ' b', 'c ', 'd'], ['a', 'b', 'C', 'dd'])['exact_match']
    assert found.value == 0.5
    assert found.low < 0.5 < found.high


def test_rouge_by_hand():
    text, wanted = 'the cat sat on the mat', 'The cat, on a mat!'
    found = ROUGE()([text], [wanted])
    assert found['rouge_1'].value == pytest.approx(2 * 4 / (6 + 5))  # the, cat, on, mat
    assert found['rouge_2'].value == pytest.approx(2 * 1 / (5 + 4))  # the cat
    assert found['rouge_l'].value == pytest.approx(2 * 4 / (6 + 5))  # the cat on mat
    assert ROUGE(orders=(3,))([text], [wanted])['rouge_3'].value == 0


def test_words_are_letters_and_digits_of_any_script_in_lower_case():
    assert words("It's 3 Äpfel_Birnen: ДА!") == ['it', 's', '3', 'äpfel', 'birnen', 'да']


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('हिन्दी में किताबें।', ['हिन्दी', 'में', 'किताबें']),
        ('தமிழ் மொழி', ['தமிழ்', 'மொழி']),
        ('ที่นี่ ดี', ['ที่นี่', 'ดี']),
        ('العَرَبِيَّة، لغة', ['العَرَبِيَّة', 'لغة']),
        ('می\u200cخواهم', ['می\u200cخواهم']),
        ('中文，ABC 12。', ['中', '文', 'abc', '12']),
        ('東京タワーで', ['東', '京', 'タ', 'ワ', 'ー', 'で']),
        ('한국어 문장', ['한국어', '문장']),
        ('e\u0301te\u0301 ÉTÉ', ['été', 'été']),
        ('👩\u200d👧 ❤️ ok', ['ok']),
        ('', []),
        ('... !?', []),
    ],
)
def test_words_keep_their_marks_in_every_script(text, expected):
    assert words(text) == expected


def test_rouge_of_a_text_without_spaces_counts_its_characters():
    found = ROUGE()(['今天天气很好'], ['今天天气不好'])
    assert found['rouge_1'].value == pytest.approx(5 / 6)
    assert found['rouge_2'].value == pytest.approx(3 / 5)
    assert found['rouge_l'].value == pytest.approx(5 / 6)


def test_rouge_of_words_that_differ_in_their_marks_is_not_that_of_their_letters():
    assert ROUGE()(['कि'], ['की'])['rouge_1'].value == 0
    assert ROUGE()([''], [''])['rouge_1'].value == 0


def test_repeated_words_count_as_often_as_both_have_them():
    assert shared(['a', 'a', 'a'], ['a', 'a', 'b'], 1) == pytest.approx(2 * 2 / 6)
    assert shared(['a'], ['a'], 2) == 0


def test_the_longest_common_subsequence_is_the_longest_of_all():
    draw = np.random.default_rng(0)
    for _ in range(20):
        text, wanted = (list(map(str, draw.integers(0, 3, draw.integers(0, 7)))) for _ in range(2))
        every = {tuple(picked) for n in range(len(text) + 1) for picked in itertools.combinations(text, n)}
        both = every & {tuple(picked) for n in range(len(wanted) + 1) for picked in itertools.combinations(wanted, n)}
        longest = max(map(len, both))
        assert in_order(text, wanted) == pytest.approx(2 * longest / max(1, len(text) + len(wanted)))
