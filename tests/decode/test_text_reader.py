# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of texts by layer equal the means of the vectors of their tokens."""

import flax.linen as nn
import jax
import numpy as np
import pytest
from small_models import encoder_spec, make

from saccade.decode.embed import Embedder
from saccade.decode.text_reader import TextReader
from saccade.model.word_vectors import WordVectors
from saccade.ops import pool
from saccade.types import UserError

TEXTS = ['the dog saw a cat', 'a cat sat', 'the cat saw the dog and this dog']


class Seq2Seq(nn.Module):
    """A model with two stacks, neither of which is its `layers`."""

    vocabulary: int
    context_length: int


@pytest.mark.long
def test_layers_of_an_encoder_are_the_means_of_its_token_vectors(encoder, words):
    model, params = encoder
    # As initialised: weights ten times as large magnify the rounding of another batch size.
    params = jax.tree.map(lambda leaf: leaf / 10 if leaf.ndim > 1 else leaf, params)
    found = TextReader(model, params, words).layers(TEXTS)
    assert [*found] == ['0', '1', '2']
    for layer, vectors in found.items():
        embedder = Embedder(model, params, words, int(layer))
        expected = [embedder.embed(text).pooled(pool.mean) for text in TEXTS]
        np.testing.assert_allclose(vectors, expected, atol=1e-5 * np.abs(expected).max())


def test_the_head_of_a_sentence_encoder_is_read_where_it_was_trained_for_that(words):
    head = {'use': 'head.pooled:Pooled', 'classes': None, 'pool': {'use': 'ops.pool:first'}}
    model, params = make(encoder_spec(heads={'pooled': head}))
    assert [*TextReader(model, params, words).layers(TEXTS)] == ['0', '1', '2', 'head']
    assert [*TextReader(model, params, words, head=False).layers(TEXTS)] == ['0', '1', '2']


def test_word_vectors_are_averaged(words):
    table = np.random.default_rng(0).normal(size=(words.size, 3)).astype(np.float32)
    model = WordVectors(vocabulary=words.size, context_length=8, width=3)
    found = TextReader(model, {'embedding': table}, words).layers([*TEXTS, ''])
    assert [*found] == ['0']
    np.testing.assert_allclose(found['0'][1], table[words.encode(TEXTS[1])].mean(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(found['0'][-1], np.zeros(3))


def test_a_model_without_layers_is_refused(words):
    """Its table alone would be taken for what it makes of a text."""
    reader = TextReader(Seq2Seq(words.size, 8), {'embedding': np.zeros((words.size, 2))}, words)
    with pytest.raises(UserError, match='Seq2Seq computes no vector of a text; an encoder or a decoder is needed'):
        reader.layers(TEXTS)
