# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trainers of pieces of words: the same pieces in every process, within the vocabulary, and never a special token."""

import argparse
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from saccade.data.tokenizer.mixed_word import MixedWord
from saccade.data.tokenizer.tokenizer import BERT, END, UNKNOWN, Tokenizer
from saccade.data.tokenizer.unigram import Unigram
from saccade.data.tokenizer.word_piece import WordPiece
from saccade.types import UserError

TRAINERS = [WordPiece, Unigram, MixedWord]
SOURCE = Path(argparse.__file__)
TRAIN = """
import sys
from pathlib import Path
from saccade.data.tokenizer.mixed_word import MixedWord
from saccade.data.tokenizer.unigram import Unigram
from saccade.data.tokenizer.word_piece import WordPiece
for part in (WordPiece(600), Unigram(600), MixedWord(600)):
    folder = Path(sys.argv[2]) / type(part).__name__
    folder.mkdir()
    part.train([Path(sys.argv[1]).read_text()]).save(folder)
"""


def _trained_elsewhere(folder, seed):
    """What another process, with a hash seed of its own, writes in the folder."""
    folder.mkdir()
    command = [sys.executable, '-c', TRAIN, str(SOURCE), str(folder)]
    subprocess.run(command, check=True, env={**os.environ, 'PYTHONHASHSEED': str(seed)})
    return {path.parent.name: path.read_bytes() for path in folder.glob('*/tokenizer.json')}


@pytest.mark.long
def test_every_process_writes_the_same_files(tmp_path):
    first, second = (_trained_elsewhere(tmp_path / str(seed), seed) for seed in (1, 2))
    assert first == second
    assert first.keys() == {'WordPiece', 'Unigram', 'MixedWord'}


@pytest.mark.long
@pytest.mark.parametrize('make', TRAINERS)
def test_what_was_learned_from_much_text_is_saved_to_the_last_digit(make, tmp_path):
    tokenizer = make(900).train([SOURCE.read_text()])
    tokenizer.save(tmp_path)
    again = Tokenizer.load(tmp_path / 'tokenizer.json')
    (tmp_path / 'again').mkdir()
    again.save(tmp_path / 'again')
    assert (again.size, again.digest) == (900, tokenizer.digest)
    assert (tmp_path / 'again/tokenizer.json').read_bytes() == (tmp_path / 'tokenizer.json').read_bytes()


@pytest.mark.long
@pytest.mark.parametrize(('make', 'least'), [(WordPiece, 190), (Unigram, 190), (MixedWord, 270)])
def test_as_many_pieces_as_the_vocabulary_has_room_for(make, least):
    vocabularies = [least, least + 5, 300, 999]
    assert [make(vocabulary).train([SOURCE.read_text()]).size for vocabulary in vocabularies] == vocabularies
    assert make(999).train(['a short text']).size < 40


NAMES = [*BERT, END, '</s>']


@pytest.mark.parametrize('make', [*TRAINERS, partial(WordPiece, lowercase=False)])
@pytest.mark.parametrize('known', [True, False])
def test_special_tokens_spelled_out_are_text(make, known):
    part = make(99, end=None, specials=tuple(NAMES))
    spelled = [form.format(name) for name in NAMES for form in ('{0}', ' {0}', 'x{0}x', '{0}{0}', '{0} {0}\n')]
    tokenizer = part.train(spelled * 9 if known else ['abc'])
    unknown = tokenizer.special(UNKNOWN)
    for ids in tokenizer.encode_batch(spelled):
        assert not {*ids} & {*tokenizer.specials.values()} - {unknown}
        assert known == (unknown not in ids)


@pytest.mark.parametrize(
    'make',
    [
        *(partial(Unigram, specials=(name,)) for name in ('PAD', 'x', '<>', '\u2581the')),
        *(partial(WordPiece, lowercase=False, specials=(name,)) for name in ('PAD', 'x', '<', '##a')),
    ],
    ids=str,
)
def test_a_special_token_that_might_be_a_piece_is_refused(make):
    with pytest.raises(UserError, match=f"specials: '{make.keywords['specials'][0]}' might be a "):
        make(99)


@pytest.mark.parametrize('make', TRAINERS)
def test_rare_characters_are_unknown_the_last_by_code_point_first(make):
    tokenizer = make(99, alphabet=3, specials=(UNKNOWN,)).train(['zzb', 'zzb', 'bd', 'zc'])
    unknown = tokenizer.special(UNKNOWN)
    assert [unknown in ids for ids in tokenizer.encode_batch(['zzb', 'zc', 'bd', 'zd'])] == [False, False, True, True]


@pytest.mark.parametrize('make', TRAINERS)
def test_more_characters_than_the_vocabulary_are_refused_with_what_would_do(make):
    text = 'ab cd abcdefghijkl'
    with pytest.raises(UserError, match='10 tokens are too few') as refusal:
        make(10).train([text])
    assert '\n' not in str(refusal.value)
    least = int(re.search(r'pieces of one character; use (\d+)', str(refusal.value))[1])
    assert make(least).train([text]).size == least
    with pytest.raises(UserError, match='too few'):
        make(least - 1).train([text])
