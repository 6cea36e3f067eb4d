# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Masks are filled in as the model would have it, alone and in turns, and the rest of a text stays as it is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tokenizers
from small_models import encoder_spec, make
from tokenizers import processors

from saccade.build import build
from saccade.data.tokenizer.bpe import BPE
from saccade.data.tokenizer.tokenizer import BERT, Tokenizer
from saccade.data.tokenizer.word import Word
from saccade.decode.fill import Filled, Filler
from saccade.types import LayerContext, UserError

pytestmark = pytest.mark.long

SAME_NUMBERS = 1e-5
TEXT = 'the [MASK] saw [MASK] [MASK] and this [MASK] sat on [MASK] dog [MASK] mine'


@pytest.fixture(scope='session')
def filler(encoder, words):
    return Filler(*encoder, words)


def ids_of(tokenizer, text):
    """[CLS] text [SEP], of words and [MASK]s."""
    specials = tokenizer.specials
    inner = [specials['[MASK]'] if word == '[MASK]' else tokenizer.encode(word)[0] for word in text.split()]
    return [specials['[CLS]'], *inner, specials['[SEP]']]


def probabilities(encoder, tokenizer, ids):
    """Of each word of the vocabulary at each place, from a row without padding."""
    model, params = encoder
    context = LayerContext(jnp.arange(len(ids))[None])
    logits = np.array(model.apply({'params': params}, jnp.array([ids]), context, False)['masked'][0])
    logits[:, [*tokenizer.specials.values(), *range(tokenizer.size, model.vocabulary)]] = -np.inf
    return np.asarray(jax.nn.softmax(logits, axis=-1))


def mask_predict(encoder, tokenizer, ids, turns):
    """The tokens after each turn: Ghazvininejad et al. 2019, section 3, place by place."""
    mask = tokenizer.specials['[MASK]']
    masked = [place for place, token in enumerate(ids) if token == mask]
    tokens, sure, unsure = list(ids), {}, masked
    for turn in range(1, turns + 1):
        for place in unsure:
            tokens[place] = mask
        found = probabilities(encoder, tokenizer, tokens)
        for place in unsure:
            tokens[place], sure[place] = int(found[place].argmax()), found[place].max()
        count = len(masked) * (turns - turn) // turns
        unsure = sorted(masked, key=sure.__getitem__)[:count]
        yield [mask if place in unsure else token for place, token in enumerate(tokens)]


@pytest.mark.long
@pytest.mark.parametrize('turns', [1, 2, 3, 4, 6, 9])
def test_turns_are_those_of_a_plain_loop(filler, encoder, words, turns):
    ids = ids_of(words, TEXT)
    expected = list(mask_predict(encoder, words, ids, turns))
    shown = [' '.join(map(words.token, row[1:-1])) for row in expected]
    assert list(filler.turns(TEXT, turns)) == shown
    assert filler.filled(TEXT, turns) == shown[-1]
    assert '[MASK]' not in shown[-1]


@pytest.mark.long
def test_several_turns_come_to_another_text_than_one(filler):
    """Else the test above would compare schedules that make no difference."""
    assert len({filler.filled(TEXT, turns) for turns in (1, 2, 3, 6)}) > 1


@pytest.mark.long
def test_masks_are_opened_again_fewer_at_each_turn(filler):
    assert [text.count('[MASK]') for text in filler.turns(TEXT, 6)] == [5, 4, 3, 2, 1, 0]
    assert [text.count('[MASK]') for text in filler.turns(TEXT, 4)] == [4, 3, 1, 0]


@pytest.mark.long
@pytest.mark.parametrize('template', ['$A', '[CLS] $A', '$A [SEP]', '[CLS] $A [SEP] [SEP]'])
def test_the_text_is_shown_without_the_special_tokens_of_its_row(encoder, words, template):
    framed = Tokenizer(tokenizers.Tokenizer.from_str(words.backend.to_str()), roles=words.roles)
    specials = [(name, words.specials[name]) for name in ('[CLS]', '[SEP]')]
    framed.backend.post_processor = processors.TemplateProcessing(template, special_tokens=specials)
    ids = [words.specials.get(piece, piece) for piece in template.split()]
    at = ids.index('$A')
    ids[at : at + 1] = ids_of(words, TEXT)[1:-1]
    (expected,) = mask_predict(encoder, words, ids, 1)
    shown = ' '.join(map(words.token, expected[at : at + len(TEXT.split())]))
    assert Filler(*encoder, framed).filled(TEXT) == shown


def test_one_turn_is_the_first_choice_of_each_mask(filler):
    choices = iter(filler.fill(TEXT, 1))
    expected = [next(choices).tokens[0] if word == '[MASK]' else word for word in TEXT.split()]
    assert filler.filled(TEXT).split() == expected


@pytest.mark.long
def test_choices_are_the_most_probable_tokens_with_their_probabilities(filler, encoder, words):
    ids = ids_of(words, TEXT)
    masked = [place for place, token in enumerate(ids) if token == words.specials['[MASK]']]
    for choice, each in zip(filler.fill(TEXT, 3), probabilities(encoder, words, ids)[masked], strict=True):
        best = np.argsort(-each)[:3]
        assert choice.tokens == [words.token(number) for number in best]
        np.testing.assert_allclose(choice.probabilities, each[best], rtol=SAME_NUMBERS)


def test_neither_special_tokens_nor_what_the_tokenizer_lacks_are_ever_filled_in(encoder, words):
    model, params = encoder
    never = jnp.array([*words.specials.values(), *range(words.size, model.vocabulary)])
    bias = params['masked_head']['bias'].at[never].set(1e4)
    filler = Filler(model, {**params, 'masked_head': {**params['masked_head'], 'bias': bias}}, words)
    known = {words.token(number) for number in range(words.size)} - {*BERT}
    assert {token for choice in filler.fill(TEXT, words.size - len(BERT)) for token in choice.tokens} == known
    assert {*filler.filled(TEXT, 3).split()} <= known


def test_the_words_of_a_text_stay_and_unknown_ones_are_seen(filler):
    *around, last = filler.filled('the dog saw this unheard-of cat [MASK]', 1).split()
    assert around == ['the', 'dog', 'saw', 'this', '[UNK]', 'cat']
    assert last != '[MASK]'


def test_a_mask_takes_the_space_before_it_where_its_vocabulary_says_so(encoder):
    """As <mask> of RoBERTa, whose tokens of words begin with a space."""
    pieces = BPE(300, end=None, specials=BERT).train(['the dog saw a cat'])
    model, params = make(encoder_spec(vocabulary=300))
    mask, encode = pieces.specials['[MASK]'], pieces.encode
    apart = [*encode('the '), mask, *encode(' cat')]
    assert list(Filler(model, params, pieces).encoded('the [MASK] cat')) == apart
    backend = tokenizers.Tokenizer.from_str(pieces.backend.to_str())
    backend.add_special_tokens([tokenizers.AddedToken('[MASK]', lstrip=True, special=True)])
    taking = Filler(model, params, Tokenizer(backend))
    assert list(taking.encoded('the [MASK] cat')) == [*encode('the'), mask, *encode(' cat')]


def test_what_cannot_be_filled_in_is_refused(filler, encoder, words):
    with pytest.raises(UserError, match=r"the text has no \[MASK\], so there is nothing to fill in: 'the dog'"):
        filler.fill('the dog')
    with pytest.raises(UserError, match='the text has 31 tokens, and the context has room for 30'):
        filler.filled('[MASK]' + 30 * ' dog')
    assert filler.filled('[MASK]' + 29 * ' dog').count('dog') >= 29
    with pytest.raises(UserError, match=r"no special token '\[MASK\]' or '<mask>'"):
        Filler(*encoder, Word(20).train(['the dog']))


def test_a_model_without_the_head_is_refused(encoder, rotary, words):
    headless = build(encoder_spec(heads={}))()
    for model in (headless, rotary[0]):
        with pytest.raises(UserError, match="no head 'masked': only a model trained on masked tokens"):
            Filler(model, encoder[1], words)


def test_a_run_shows_a_text_filled_in_and_what_else_might_stand_there(filler, encoder, words):
    shown = Filled('the [MASK] sat', 2)(*encoder, words, jax.random.key(0))
    (choice,) = filler.fill('the [MASK] sat', 2)
    (one, p), (other, q) = choice.pairs()
    assert shown == f'the {one} sat  ({one} {p:.2f}, {other} {q:.2f})'
