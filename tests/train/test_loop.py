# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a run refuses before its first step."""

from types import SimpleNamespace

import pytest

from saccade.data.tokenizer import Byte, Tokenizer, Word
from saccade.train.loop import require_vocabularies
from saccade.types import UserError

ONE = Byte().train([])
TWO = Tokenizer(ONE.backend, Word(vocabulary=50).train(['a dog runs']))


def model(**sizes):
    return SimpleNamespace(context=8, **sizes)


@pytest.mark.parametrize(
    ('given', 'tokenizer'),
    [
        (model(vocabulary=ONE.size), ONE),
        (model(vocabulary=ONE.size, source_vocabulary=None), ONE),
        (model(vocabulary=ONE.size, source_vocabulary=3), ONE),  # a source that is embedded by itself
        (model(vocabulary=ONE.size, source_vocabulary=TWO.source.size), TWO),
    ],
)
def test_a_model_that_has_a_place_for_every_token_is_taken(given, tokenizer):
    require_vocabularies(given, tokenizer)


@pytest.mark.parametrize(
    ('given', 'tokenizer', 'message'),
    [
        (model(vocabulary=9), ONE, rf'model.vocabulary: 9 is smaller than the tokenizer, which has {ONE.size} tokens'),
        (model(vocabulary=ONE.size), TWO, 'data.source_tokenizer: the model has one embedding for both sides'),
        (model(vocabulary=ONE.size, source_vocabulary=2), TWO, 'model.source_vocabulary: 2 is smaller than'),
    ],
)
def test_a_model_that_lacks_a_place_is_refused(given, tokenizer, message):
    with pytest.raises(UserError, match=message):
        require_vocabularies(given, tokenizer)
