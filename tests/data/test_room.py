# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Models with and without an embedding for every token."""

from types import SimpleNamespace

import pytest

from saccade.data.tokenizer.bpe import BPE
from saccade.data.tokenizer.byte import Byte
from saccade.data.tokenizer.character import Character
from saccade.data.tokenizer.room import most_tokens, require_room
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.word import Word
from saccade.types import Part, UserError

ONE = Byte().train([])
TWO = Tokenizer(ONE.backend, Word(vocabulary=50).train(['a dog runs']))


def model(**sizes):
    return Part(SimpleNamespace).replace(context_length=8, **sizes)


def pair(generator, discriminator):
    """A model of two, whose vocabulary is the first one's."""
    both = Part(lambda **parts: SimpleNamespace(vocabulary=parts['generator']['vocabulary']))
    return both.replace(generator=model(vocabulary=generator), discriminator=model(vocabulary=discriminator))


@pytest.mark.parametrize(
    ('given', 'tokenizer'),
    [
        (model(vocabulary=ONE.size), ONE),
        (model(vocabulary=ONE.size, source_vocabulary=None), ONE),
        (model(vocabulary=ONE.size, source_vocabulary=ONE.size), ONE),  # a source that is embedded by itself
        (model(vocabulary=ONE.size, source_vocabulary=TWO.source.size), TWO),
    ],
)
def test_a_model_that_has_a_place_for_every_token_is_taken(given, tokenizer):
    require_room(given, *tokenizer.sizes)


@pytest.mark.parametrize(
    ('given', 'tokenizer', 'message'),
    [
        (model(vocabulary=9), ONE, rf'model.vocabulary: 9 is smaller than the tokenizer, which has {ONE.size} tokens'),
        (model(vocabulary=None), ONE, rf'^config\.model\.vocabulary: 0 is smaller than .* {ONE.size} tokens'),
        (pair(9, 9), ONE, r'^config\.model\.discriminator\.vocabulary, config\.model\.generator\.vocabulary: 9 is'),
        (pair(9, ONE.size), ONE, r'^config\.model\.generator\.vocabulary: 9 is smaller'),
        (model(vocabulary=ONE.size, source_vocabulary=3), ONE, r'^config\.model\.source_vocabulary: 3 is smaller'),
        (model(vocabulary=ONE.size), TWO, 'data.source_tokenizer: the model has one embedding for source and target'),
        (model(vocabulary=ONE.size, source_vocabulary=2), TWO, 'model.source_vocabulary: 2 is smaller than'),
    ],
)
def test_a_model_that_lacks_a_place_is_refused(given, tokenizer, message):
    with pytest.raises(UserError, match=message):
        require_room(given, *tokenizer.sizes)


def data(**tokenizers):
    return SimpleNamespace(context_length=8, batch_like=print, prepare=print, **tokenizers)


@pytest.mark.parametrize(
    ('given', 'dataset', 'message'),
    [
        (model(vocabulary=511), data(tokenizer=Part(BPE).replace(vocabulary=512)), r'511 is .* has 512 tokens'),
        (model(vocabulary=256), data(tokenizer=Part(Byte)), r'256 is smaller .* 257 tokens'),
        (
            model(vocabulary=400, source_vocabulary=300),
            data(tokenizer=Part(Byte), source_tokenizer=Part(BPE).replace(vocabulary=301)),
            r'source_vocabulary: 300 is smaller .* 301 tokens',
        ),
        (
            model(vocabulary=300),
            data(tokenizer=Part(Byte), source_tokenizer=Part(Byte)),
            'one embedding for source and',
        ),
    ],
)
def test_a_model_with_fewer_embeddings_than_the_tokenizer_may_learn_is_refused_without_data(given, dataset, message):
    with pytest.raises(UserError, match=message):
        require_room(given, *most_tokens(dataset))


def test_a_tokenizer_whose_size_the_texts_decide_is_not_refused_without_them():
    require_room(model(vocabulary=2), *most_tokens(data(tokenizer=Part(Character))))
    require_room(model(vocabulary=2), *most_tokens(data()))
