# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors are those of the layer asked for, a word's those of its pieces, a long text's as if the context were long."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_models import encoder_spec, make, model_spec

from saccade.build import build
from saccade.data.tokenizer.bpe import BPE
from saccade.data.tokenizer.byte import Byte
from saccade.data.tokenizer.tokenizer import BERT
from saccade.data.tokenizer.word import Word
from saccade.decode.embed import Embedder, cosines
from saccade.model.stack import STATES, layer_states
from saccade.ops import pool
from saccade.types import LayerContext, UserError

SAME_NUMBERS = 1e-5  # of the largest, through two layers, in rows of other lengths
TEXT = 'the dog saw a cat and this cat sat on that dog'
REACH = 2  # tokens on either side that a layer of the local models sees; there are two layers


@pytest.fixture(scope='session')
def embedder(encoder, words):
    return Embedder(*encoder, words)


@partial(jax.jit, static_argnums=(0, 2))
def states(model, params, tokens):
    """What each layer makes of a row without padding."""
    context = LayerContext(jnp.arange(len(tokens))[None])
    _, reported = model.apply({'params': params}, jnp.array([tokens]), context, False, mutable=STATES)
    return [state[0] for state in layer_states(reported)]


def apart(found, expected):
    """The largest difference, of the largest number."""
    return np.abs(np.subtract(found, expected)).max() / np.abs(expected).max()


def close(found, expected):
    assert apart(found, expected) < SAME_NUMBERS


def local(context_length, **mask):
    """A spec whose layers see a few tokens on either side, at any distance from the beginning."""
    spec = encoder_spec(context_length=context_length)
    spec['block']['mixer']['mask'] = {'use': 'ops.mask:Window', 'left': REACH, 'right': REACH}
    return spec


@pytest.mark.long
@pytest.mark.parametrize('layer', [0, 1, -1])
def test_an_encoder_reads_a_framed_text_layer_by_layer(encoder, words, layer):
    found = Embedder(*encoder, words, layer).embed(TEXT)
    assert found.tokens == ['[CLS]', *TEXT.split(), '[SEP]']
    assert [TEXT[start:stop] for start, stop in found.places] == ['', *TEXT.split(), '']
    ids = (words.specials['[CLS]'], *words.encode(TEXT), words.specials['[SEP]'])
    close(found.vectors, states(*encoder, ids)[layer])


@pytest.mark.long
@pytest.mark.parametrize('layer', [0, -2])
def test_a_decoder_reads_a_text_after_the_end_token(rotary, tokenizer, layer):
    found = Embedder(*rotary, tokenizer, layer).embed('naïve')
    assert found.tokens[0] == '<|end|>'
    assert [('naïve')[start:stop] for start, stop in found.places] == ['', *'naïïve']  # a token a byte
    close(found.vectors, states(*rotary, (tokenizer.end, *tokenizer.encode('naïve')))[layer])


@pytest.mark.long
def test_without_an_end_token_a_decoder_reads_the_text_alone(rotary):
    found = Embedder(*rotary, Byte(end=None).train([])).embed('ab')
    close(found.vectors, states(*rotary, (97, 98))[-1])


@pytest.mark.long
def test_the_vector_of_a_word_is_the_mean_of_its_pieces_wherever_it_stands(encoder):
    pieces = BPE(270, end=None, specials=BERT).train(['the dog saw'])
    model, params = make(encoder_spec(vocabulary=270, context_length=64))
    text = 'A doghouse: the dog, Dog. Saw the underdog'
    found = Embedder(model, params, pieces).embed(text)
    assert [text[slice(*each.place)] for each in found.occurrences('dog')] == ['dog', 'Dog']
    saw = found.occurrences('SAW')[0]
    assert len(saw.tokens) > 1
    place = text.index('Saw')
    inside = [at for at, (start, stop) in enumerate(found.places) if start < place + 3 and stop > place]
    assert saw.tokens == [found.tokens[at] for at in inside]
    np.testing.assert_array_equal(saw.vector, found.vectors[inside].mean(axis=0))


@pytest.mark.long
def test_a_word_has_one_embedding_and_another_vector_in_each_context(encoder, words):
    one, other = 'the dog saw a cat', 'this cat sat on that dog of mine'
    alike = {}
    for layer in (0, 1, 2):
        embedder = Embedder(*encoder, words, layer)
        vectors = [embedder.embed(text).occurrences('dog')[0].vector for text in (one, other)]
        alike[layer] = float(cosines(vectors[0][None], vectors[1][None])[0, 0])
    assert alike[0] == pytest.approx(1.0, abs=1e-6)
    assert max(alike[1], alike[2]) < 0.999


@pytest.mark.long
def test_a_text_is_pooled_as_a_head_would_pool_its_row(encoder, words):
    found, short = (Embedder(*encoder, words).embed(text) for text in (TEXT, 'the dog'))
    close(found.pooled(pool.mean), found.vectors.mean(axis=0))
    close(found.pooled(pool.maximum), found.vectors.max(axis=0))
    close(found.pooled(pool.first), found.vectors[0])
    assert found.tokens[0] == '[CLS]'
    assert apart(found.pooled(pool.mean), short.pooled(pool.mean)) > 0.01


@pytest.mark.long
@pytest.mark.parametrize('context_length', [16, 31])
def test_with_enough_overlap_chunks_of_an_encoder_give_what_a_long_context_gives(context_length, words):
    _, params = make(local(context_length))
    text = ' '.join(np.random.default_rng(0).choice(TEXT.split(), 90))
    whole = Embedder(build(local(128))(), params, words).embed(text)
    reach = 2 * REACH  # of two layers
    overlapping, cut = (
        Embedder(build(local(context_length))(), params, words, -1, size).embed(text) for size in (2 * reach, 0)
    )
    assert overlapping.tokens == whole.tokens == cut.tokens
    assert overlapping.places == whole.places
    close(overlapping.vectors, whole.vectors)
    close(overlapping.pooled(pool.mean), whole.pooled(pool.mean))
    assert apart(cut.vectors, whole.vectors) > 0.01


@pytest.mark.long
def test_half_of_a_chunk_is_the_overlap_where_none_is_given(words):
    _, params = make(local(18))
    text = ' '.join(np.random.default_rng(0).choice(TEXT.split(), 50))
    usual, asked = (Embedder(build(local(18))(), params, words, -1, size).embed(text) for size in (None, 8))
    np.testing.assert_array_equal(usual.vectors, asked.vectors)


@pytest.mark.long
def test_chunks_of_a_decoder_are_read_for_what_stands_before(tokenizer):
    def spec(context_length):
        given = model_spec(context_length=context_length)
        given['block']['mixer']['mask'] = {'use': 'ops.mask:Window', 'left': REACH}
        return given

    _, params = make(spec(16))
    text = 'A text that is several times as long as the context of the model.'
    whole = Embedder(build(spec(128))(), params, tokenizer).embed(text)
    reach = 2 * REACH
    overlapping, cut = (Embedder(build(spec(16))(), params, tokenizer, -1, size).embed(text) for size in (reach, 0))
    assert overlapping.tokens == whole.tokens
    close(overlapping.vectors, whole.vectors)
    assert apart(cut.vectors, whole.vectors) > 0.01


def test_neighbours_are_those_of_the_embedding(embedder, encoder, words):
    table = np.array(encoder[1]['embedding'])[: words.size]
    table /= np.linalg.norm(table, axis=-1, keepdims=True)
    dog = words.encode('dog')[0]
    order = [number for number in np.argsort(-table @ table[dog]) if number != dog]
    found = embedder.nearest('dog', 5)
    assert [token for token, _ in found] == [words.token(number) for number in order[:5]]
    close([cosine for _, cosine in found], np.sort(table @ table[dog])[::-1][1:6])
    assert len(embedder.nearest('[MASK]', 100)) == words.size - 1


@pytest.mark.long
def test_a_token_may_be_named_by_its_spelling_or_by_its_text(encoder):
    pieces = BPE(280, end=None, specials=BERT).train(['a dog, the dog, dog'])
    embedder = Embedder(*make(encoder_spec(vocabulary=280)), pieces)
    assert embedder.nearest('Ġdog') == embedder.nearest(' dog')
    with pytest.raises(UserError, match="'cat' is not one token but 3, c, a, t: give a single token"):
        embedder.nearest('cat')


def test_a_word_that_a_tokenizer_of_words_lacks_has_no_neighbours(encoder):
    own = Word(20).train([TEXT])  # its unknown token is no special one
    with pytest.raises(UserError, match="'zzqq' is not known to the tokenizer"):
        Embedder(*encoder, own).nearest('zzqq')
    assert len(Embedder(*encoder, own).nearest('dog', 3)) == 3


def test_cosines_are_of_each_vector_with_each():
    found = cosines(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[2.0, 2.0], [0.0, 3.0], [-1.0, 0.0]]))
    close(found, [[0.5**0.5, 0, -1], [0, 0, 0]])


@pytest.mark.long
def test_what_cannot_be_read_is_refused(encoder, embedder, words):
    with pytest.raises(UserError, match=r'no layer 3: the model has 2 \(1 to 2\); 0 is the token embedding'):
        Embedder(*encoder, words, 3).embed(TEXT)
    with pytest.raises(UserError, match='no layer -4'):
        Embedder(*encoder, words, -4).embed(TEXT)
    with pytest.raises(UserError, match="the text '' has no token"):
        embedder.embed('')
    for word in ('mine', '', ' '):
        with pytest.raises(UserError, match=f"no word '{word}' in the text 'the dog"):
            embedder.embed(TEXT).occurrences(word)
    with pytest.raises(UserError, match="'unheard-of' is not known to the tokenizer"):
        embedder.nearest('unheard-of')
    with pytest.raises(UserError, match='overlap: must be at least 0 and below the 30 tokens'):
        Embedder(*encoder, words, -1, 30).embed(TEXT)
    with pytest.raises(UserError, match=r"no special token '\[CLS\]' or '<s>'"):
        Embedder(*encoder, Word(20).train([TEXT])).embed(TEXT)
