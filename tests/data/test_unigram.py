# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The unigram model against every way to cut short words, one by one."""

import argparse
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from saccade.build import build
from saccade.data.tokenizer.tokenizer import UNKNOWN
from saccade.data.tokenizer.unigram import Lattice, Unigram, fitted, improved, losses

TEXT = Path(argparse.__file__).read_text()
WORDS = {'abab': 3, 'b': 1, 'aabb': 2, 'ba': 5, 'abbab': 1}
PIECES = ['a', 'b', 'ab', 'ba', 'abb', 'bab', 'abab', 'zz']
NUMBERS = {piece: number for number, piece in enumerate(PIECES)}
COUNTS = np.array([*WORDS.values()], float)
EXACT = 1e-9  # both sides are double precision; only the order of sums differs


def _cuts(word, pieces):
    """Every way to cut a word into pieces."""
    if not word:
        return [[]]
    heads = [word[:size] for size in range(1, len(word) + 1) if word[:size] in pieces]
    return [[head, *rest] for head in heads for rest in _cuts(word[len(head) :], pieces)]


def _probability(cut, scores):
    return math.exp(sum(scores[NUMBERS[piece]] for piece in cut))


def _scores(seed=0):
    return np.log(np.random.default_rng(seed).dirichlet(np.ones(len(PIECES))))


def _likelihood(lattice, scores):
    return lattice.totals(scores)[lattice.ends] @ COUNTS


def _stored(tokenizer):
    """The score of each piece that is not a special token."""
    scores = dict(json.loads(tokenizer.backend.to_str())['model']['vocab'])
    return {piece: score for piece, score in scores.items() if piece not in (*tokenizer.specials, UNKNOWN)}


def test_a_word_is_as_probable_as_all_its_cuts_together():
    lattice, scores = Lattice.of(WORDS, NUMBERS), _scores()
    wanted = [math.log(sum(_probability(cut, scores) for cut in _cuts(word, NUMBERS))) for word in WORDS]
    np.testing.assert_allclose(lattice.totals(scores)[lattice.ends], wanted, rtol=EXACT)


def _slow_expected(scores):
    expected = Counter()
    for word, count in WORDS.items():
        shares = {tuple(cut): _probability(cut, scores) for cut in _cuts(word, NUMBERS)}
        for cut, share in shares.items():
            for piece in cut:
                expected[piece] += count * share / sum(shares.values())
    return np.array([expected[piece] for piece in PIECES])


def test_expected_counts():
    expected = Lattice.of(WORDS, NUMBERS).expected(_scores(), COUNTS)
    np.testing.assert_allclose(expected, _slow_expected(_scores()), rtol=EXACT)
    assert expected[NUMBERS['zz']] == 0


def test_the_loss_of_a_piece_is_what_its_other_cuts_lack():
    scores = _scores()
    lattice, others = Lattice.of(WORDS, NUMBERS), Lattice.of(PIECES, NUMBERS).of_parts()
    found = losses(lattice, others, scores, COUNTS)
    expected = _slow_expected(scores)
    for number, piece in enumerate(PIECES[2:-1], 2):
        cuts = [cut for cut in _cuts(piece, NUMBERS) if len(cut) > 1]
        instead = math.log(sum(_probability(cut, scores) for cut in cuts))
        assert found[number] == pytest.approx(expected[number] * (scores[number] - instead), rel=EXACT)
    assert np.isinf(found[:2]).all()


@pytest.mark.parametrize('seed', range(5))
def test_no_step_of_em_makes_the_words_less_probable(seed):
    lattice, scores = Lattice.of(WORDS, NUMBERS), _scores(seed)
    likelihoods = []
    for _ in range(30):
        likelihoods.append(_likelihood(lattice, scores))
        scores = improved(lattice, scores, COUNTS)
    assert np.diff(likelihoods).min() >= -EXACT
    assert likelihoods[-1] > likelihoods[0] + 1
    assert np.exp(scores).sum() == pytest.approx(1, abs=EXACT)


def test_the_most_probable_cut_is_chosen():
    tokenizer = Unigram(400).train([TEXT])
    scores = _stored(tokenizer)
    words = [word for word in sorted({*TEXT.split()}) if word.isalpha() and len(word) <= 8]
    assert len(words) > 300
    for word in words:
        best = max(sum(map(scores.__getitem__, cut)) for cut in _cuts(word, scores))
        chosen = [tokenizer.backend.id_to_token(number) for number in tokenizer.encode(word)]
        assert ''.join(chosen) == word
        assert sum(map(scores.__getitem__, chosen)) == pytest.approx(best, abs=EXACT)


def test_pieces_are_the_most_probable_first_and_sum_to_one():
    scores = _stored(Unigram(400).train([TEXT]))
    assert len(scores) == 398
    assert [*scores.values()] == sorted(scores.values(), reverse=True)
    assert sum(map(math.exp, scores.values())) == pytest.approx(1, abs=1e-4)  # scores have six decimals


def test_every_character_is_kept_and_the_pieces_that_matter():
    words = Counter({'\u2581the': 20, '\u2581then': 5, '\u2581cat': 4, '\u2581q': 1})
    assert {*fitted(words, 8 + 1)} == {*'\u2581thencaq', '\u2581the'}


def test_what_is_there_once_is_no_piece_but_by_its_characters():
    pieces = {*fitted(Counter({'the': 2, 'cat': 1}), 99)}
    assert pieces == {*'theca', 'th', 'he', 'the'}


def test_text_in_parts_is_decoded_as_the_whole():
    tokenizer = build({'use': 'data.tokenizer.unigram:Unigram', 'vocabulary': 200})().train([TEXT, '\t'])
    for text in (TEXT[:5000], '  two\n\n\t three   ', ' a', 'a '):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert ''.join(tokenizer.decode([number]) for number in ids) == text


def test_pieces_are_of_letters_of_digits_or_of_others():
    pieces = _stored(Unigram(400).train([TEXT]))
    for piece in pieces:
        bare = piece.removeprefix('\u2581').replace('_', '.')
        assert bare.isalpha() or bare.isdigit() or not any(map(str.isalnum, bare)), piece


def test_an_unknown_character_is_unknown_alone():
    tokenizer = Unigram(60).train(['the cat sat\n'])
    assert tokenizer.decode(tokenizer.encode('the 東cat')) == 'the [UNK]cat'


def test_a_space_comes_back_for_the_character_that_stands_for_one():
    tokenizer = Unigram(60).train(['a \u2581 b'])
    assert tokenizer.decode(tokenizer.encode('a\u2581b')) == 'a b'


@pytest.mark.long
def test_a_word_of_thousands_of_characters():
    text = 'ab' * 3000
    tokenizer = Unigram(30).train([text])
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert len(tokenizer.encode(text)) == 375  # of sixteen characters each
