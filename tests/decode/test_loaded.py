# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A loaded model translates and fills masks as its translator, its filler and its gap filler do."""

import pytest
from toy_seq2seq import made

from saccade.data.rows.pair_frame import PairFrame
from saccade.data.text.marked import SENTINEL
from saccade.data.tokenizer.word import Word
from saccade.decode.beam import Beam
from saccade.decode.fill import Filler
from saccade.decode.gaps import GapFiller
from saccade.decode.greedy import Greedy
from saccade.decode.translator import Translator
from saccade.loaded import Loaded
from saccade.train.trained import Trained
from saccade.types import UserError

pytestmark = pytest.mark.long

SENTINELS = tuple(SENTINEL.format(number) for number in range(3))
TOKENIZER = Word(vocabulary=30, specials=(*SENTINELS, '[R]')).train(['a b c d e f g'])
MODEL, PARAMS = made(vocabulary=TOKENIZER.size, context_length=9, source_context_length=9, scale=1.5)
MASKED = 'the [MASK] saw [MASK] dog'


def loaded(model, params, tokenizer):
    return Loaded('runs/a', 'latest', Trained(model, params, tokenizer, {'model': {}}))


@pytest.mark.parametrize(('given', 'search'), [({}, Greedy()), ({'beams': 3, 'alpha': 0.0}, Beam(3, alpha=0.0))])
def test_a_text_is_translated_by_the_search_that_is_named(given, search):
    frame = PairFrame.of(TOKENIZER, MODEL.source_context_length, MODEL.context_length)
    (expected,) = Translator(MODEL, PARAMS, TOKENIZER, frame, search, rows=1).translate(['d e f'])
    assert expected.text
    assert loaded(MODEL, PARAMS, TOKENIZER).translate('d e f', **given) == expected.text


@pytest.mark.parametrize('turns', [1, 2])
def test_masks_are_filled_in_turns(encoder, words, turns):
    expected = Filler(*encoder, words).filled(MASKED, turns)
    assert loaded(*encoder, words).fill(MASKED, turns) == expected


@pytest.mark.parametrize('mode', [None, '[R]'])
def test_a_denoising_model_fills_gaps(mode):
    expected = GapFiller.of(MODEL, PARAMS, TOKENIZER, None, mode).fill('a [MASK] c').text
    assert loaded(MODEL, PARAMS, TOKENIZER).fill('a [MASK] c', mode=mode) == expected


def test_what_has_no_effect_or_does_not_fit_the_model_is_refused(encoder, words):
    with pytest.raises(UserError, match='turns=2 has no effect on a sequence-to-sequence model'):
        loaded(MODEL, PARAMS, TOKENIZER).fill('a [MASK]', turns=2)
    with pytest.raises(UserError, match=r"mode='\[R\]' has no effect on a masked language model"):
        loaded(*encoder, words).fill(MASKED, mode='[R]')
    with pytest.raises(UserError, match='is not a Seq2Seq'):
        loaded(*encoder, words).translate('the dog')


def test_it_is_shown_without_its_weights():
    assert repr(loaded(MODEL, PARAMS, TOKENIZER)) == "Loaded(path='runs/a', which='latest')"
