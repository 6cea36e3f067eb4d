# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: RUF001 (texts in other scripts)
"""BLEU and chrF against sacrebleu, ROUGE against rouge-score, on degenerate texts and in several scripts."""

import itertools
import unicodedata

import numpy as np
import pytest
import sacrebleu

from saccade.metric.rouge import ROUGE, words
from saccade.metric.translation import BLEU, ChrF

regex = pytest.importorskip('regex')
rouge_scorer = pytest.importorskip('rouge_score.rouge_scorer')

pytestmark = pytest.mark.oracle

EXACT = 1e-9
# Pairs of a text and its reference.
CORPORA = {
    'english': [('The cat sat on the mat.', 'A cat sat on a mat.'), ("It's 3 o'clock!", 'It is three.'), ('x', 'x')],
    'empty texts': [('', 'A cat sat on a mat.'), ('', 'It rains.')],
    'empty references': [('A cat sat.', ''), ('It rains.', '')],
    'nothing on either side': [('', ''), ('', '')],
    'one is empty': [('', 'A cat sat on a mat.'), ('It rains in the north today', 'It rains in the north now')],
    'punctuation alone': [('...', '!?'), ('-- --', '-- --')],
    'short': [('cat', 'cat'), ('a', 'b')],
    'nothing in common': [('one two three four five', 'six seven eight nine ten')],
    'repeated': [('the the the the the the', 'the cat is on the mat'), ('a a b', 'a b b')],
    'equal': [('A cat sat on a mat.', 'A cat sat on a mat.')] * 2,
    'devanagari': [('बिल्ली चटाई पर बैठी है।', 'एक बिल्ली चटाई पर बैठी थी।'), ('कि', 'की')],
    'tamil': [('பூனை பாயில் அமர்ந்தது', 'ஒரு பூனை பாயில் அமர்ந்தது')],
    'thai': [('แมวนั่งบนเสื่อ', 'แมวนั่งอยู่บนเสื่อ'), ('ที่ นี่ ดี', 'ที่ นี่ ดี')],
    'chinese': [('今天天气很好，我们去公园。', '今天天气不好，我们不去公园。')],
    'japanese': [('東京タワーに行きました。', '昨日東京タワーへ行きました。')],
    'korean': [('고양이가 매트에 앉았다', '고양이가 매트 위에 앉았다')],
    'arabic': [('جلست القطة على الحصيرة', 'جَلَسَتِ القِطَّةُ على الحصيرة')],
    'persian': [('می\u200cخواهم بروم', 'می\u200cخواهم بمانم')],
    'marks': [('e\u0301te\u0301 à la mer', 'été à la mer'), ('İstanbul ẞ', 'istanbul ß')],
    'emoji': [('👩\u200d👧 ❤️ yes', '👩\u200d👧 yes ❤️')],
}


def sides(name):
    texts, references = zip(*CORPORA[name], strict=True)
    return list(texts), list(references)


@pytest.mark.parametrize('name', CORPORA)
@pytest.mark.parametrize('tokenize', ['13a', 'intl', 'char', 'zh', 'none'])
@pytest.mark.parametrize('lowercase', [False, True])
def test_bleu_is_that_of_sacrebleu(name, tokenize, lowercase):
    texts, references = sides(name)
    found = BLEU(tokenize, lowercase)(texts, references)['bleu']
    expected = sacrebleu.corpus_bleu(texts, [references], tokenize=tokenize, lowercase=lowercase, force=True)
    assert found.value == pytest.approx(expected.score, abs=EXACT)
    assert 0 <= found.low <= found.value <= found.high <= 100 + EXACT


@pytest.mark.parametrize('name', CORPORA)
@pytest.mark.parametrize('settings', [{}, {'words': 2}, {'characters': 3, 'beta': 1}, {'lowercase': True}], ids=str)
def test_chrf_is_that_of_sacrebleu(name, settings):
    texts, references = sides(name)
    names = {'words': 'word_order', 'characters': 'char_order'}
    theirs = {names.get(setting, setting): value for setting, value in settings.items()}
    found = ChrF(**settings)(texts, references)['chrf']
    expected = sacrebleu.metrics.CHRF(**theirs).corpus_score(texts, [references])
    assert found.value == pytest.approx(expected.score, abs=EXACT)
    assert 0 <= found.low <= found.value <= found.high <= 100 + EXACT


class ByProperties:
    """Words by the properties of Unicode as the package `regex` has them, for rouge-score's own counts."""

    def tokenize(self, text):
        alone = r'[\p{Han}\p{Hiragana}\p{Katakana}ー]'
        within = r'[[\p{L}\p{M}\p{N}\u200c\u200d]--[\p{Han}\p{Hiragana}\p{Katakana}ー]]'
        text = unicodedata.normalize('NFC', text.lower())
        found = regex.findall(rf'{alone}|{within}+', text, flags=regex.VERSION1)
        return [word for word in found if regex.search(r'[\p{L}\p{N}]', word)]


def theirs(texts, references, tokenizer=None):
    scorer = rouge_scorer.RougeScorer(['rouge1', 'rouge2', 'rougeL'], tokenizer=tokenizer)
    scores = [scorer.score(wanted, text) for text, wanted in zip(texts, references, strict=True)]
    names = {'rouge_1': 'rouge1', 'rouge_2': 'rouge2', 'rouge_l': 'rougeL'}
    return {ours: np.mean([score[name].fmeasure for score in scores]) for ours, name in names.items()}


def found(texts, references):
    return {name: each.value for name, each in ROUGE()(texts, references).items()}


ASCII = [name for name in CORPORA if all(text.isascii() for pair in CORPORA[name] for text in pair)]


@pytest.mark.parametrize('name', ASCII)
def test_rouge_of_english_is_that_of_rouge_score(name):
    assert found(*sides(name)) == pytest.approx(theirs(*sides(name)), abs=EXACT)


@pytest.mark.parametrize('name', CORPORA)
def test_rouge_of_every_script_is_that_of_rouge_score_with_words_by_unicode_properties(name):
    for text in itertools.chain(*CORPORA[name]):
        assert words(text) == ByProperties().tokenize(text)
    assert found(*sides(name)) == pytest.approx(theirs(*sides(name), ByProperties()), abs=EXACT)


def test_rouge_of_drawn_texts_is_that_of_rouge_score():
    generator = np.random.default_rng(0)
    vocabulary = ['the', 'The', 'cat', 'cats', 'sat.', "it's", 'a-b', '12,5', '--', 'x_y']
    texts, references = (
        [' '.join(generator.choice(vocabulary, generator.integers(0, 9))) for _ in range(300)] for _ in range(2)
    )
    assert found(texts, references) == pytest.approx(theirs(texts, references), abs=EXACT)
