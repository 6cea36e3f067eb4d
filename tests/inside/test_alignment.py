# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Alignments of a toy, of a recurrent model and of a Transformer; and their files."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_seq2seq import made

from saccade.build import build
from saccade.data.rows.pair_frame import PairFrame
from saccade.data.tokenizer.word import Word
from saccade.decode.translator import Rendering
from saccade.inside.alignment import Aligner
from saccade.inside.maps import MEAN
from saccade.train.config import load_config
from saccade.types import LayerContext, UserError

CLOSE = 1e-6
TOKENIZER = Word(vocabulary=9).train(['a b c d e f <g>'])
END = TOKENIZER.end


def aligner(model, params, **choice):
    return Aligner(
        model, params, TOKENIZER, PairFrame.of(TOKENIZER, model.source_context_length, model.context_length), **choice
    )


def initialised(model):
    S, T = model.source_context_length, model.context_length
    source, tokens = jnp.ones((1, S), int), jnp.ones((1, T), int)
    contexts = LayerContext(jnp.arange(S)[None], source), LayerContext(jnp.arange(T)[None], tokens)
    return model.init(jax.random.key(0), source, contexts[0], tokens, contexts[1], False)['params']


def ids(text):
    return TOKENIZER.encode(text)


@pytest.mark.parametrize(('source', 'target'), [('a b c', 'd'), ('a', 'b c d'), ('a b', 'c d'), ('a b c d e f', 'c'),
                                                ('a b c d e', 'c d e f a')])  # fmt: skip
def test_rows_are_the_steps_of_the_decoder_and_sum_to_one(source, target):
    found = aligner(*made(vocabulary=TOKENIZER.size)).align(ids(source), ids(target))
    assert found.record()['read'] == [*source.split(), '<|end|>']
    assert found.record()['written'] == [*target.split(), '<|end|>']
    assert found.weights.shape == (len(target.split()) + 1, len(source.split()) + 1)
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=CLOSE)


def test_the_weights_of_a_step_are_those_it_looked_with():
    model, params = made(vocabulary=TOKENIZER.size)
    found = aligner(model, params).align(ids('a b'), ids('c d'))
    read = params['embedding'][jnp.array([*ids('a b'), END])] + 0.1 * jnp.arange(3)[:, None]
    by_hand = jax.nn.softmax(read @ params['embedding'][END])
    np.testing.assert_allclose(found.weights[0], by_hand, atol=CLOSE)


def test_unknown_words_are_those_of_the_source_that_are_attended_to():
    model, params = made(vocabulary=TOKENIZER.size)
    unknown, (known,) = ids('zwei')[0], ids('c')
    # The step after an unknown token looks at the words that look like it; the first at the end token.
    written = Rendering('a zwei b', 'c', ids('a zwei b'), [known, unknown, unknown])
    named = aligner(model, params).replace_unknown(written)
    weights = aligner(model, params).align(written.source_ids, written.ids).weights[:, :3]
    source = written.source.split()
    assert named == f'c {source[weights[1].argmax()]} {source[weights[2].argmax()]}'
    assert aligner(model, params).replace_unknown(Rendering('a', 'c', ids('a'), [known])) == 'c'


def transformer(heads=2, layers=2):
    changes = (
        f'decoder.vocabulary={TOKENIZER.size}', 'decoder.width=8', f'decoder.layers={layers}',
        f'decoder.block.mixer.heads={heads}',
    )  # fmt: skip
    config = load_config('experiments/translation/dates.py', [f'--config.model.{each}' for each in changes])
    model = build(config['model'])()
    return model, initialised(model)


def recurrent():
    cells = {'cell': {'use': 'recurrent.cell.lstm:LSTM', 'width': 8}, 'layers': 1, 'dropout': 0.0}
    soft = {'use': 'recurrent.decoder.soft:Soft', 'score': {'use': 'recurrent.score.general:General'}}
    model = build(
        {
            'use': 'model.recurrent_seq2seq:RecurrentSeq2Seq',
            'vocabulary': TOKENIZER.size,
            'context_length': 8,
            'source_context_length': 8,
            'width': 8,
            'tied': True,
            'bridge': {'use': 'recurrent.decoder.projected:Projected'},
            'encoder': {'use': 'recurrent.encoder:Encoder', 'bidirectional': True, **cells},
            'decoder': {'use': 'recurrent.decoder.luong:Luong', 'attention': soft, 'input_feeding': True, **cells},
        }
    )()
    return model, initialised(model)


@pytest.mark.long
@pytest.mark.parametrize(
    ('make', 'what'), [(transformer, 'decoder.layers.1.cross.heads.mean'), (recurrent, 'decoder.cross.heads.0')]
)
@pytest.mark.parametrize(('source', 'target'), [('a b c', 'd'), ('a b', 'c d'), ('a b', 'a b')])
def test_recurrent_models_and_transformers_have_alignments(make, what, source, target):
    found = aligner(*make()).align(ids(source), ids(target))
    assert found.what == what
    assert found.weights.shape == (len(target.split()) + 1, len(source.split()) + 1)
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=CLOSE)


@pytest.mark.long
def test_a_layer_and_a_head_of_it_can_be_chosen():
    made_of = transformer()
    mean, *heads = (aligner(*made_of, layer=0, head=head).align(ids('a b c'), ids('d')) for head in (MEAN, 0, 1))
    np.testing.assert_allclose(mean.weights, (heads[0].weights + heads[1].weights) / 2, atol=CLOSE)
    assert not np.allclose(heads[0].weights, heads[1].weights)
    assert heads[1].what == 'decoder.layers.0.cross.heads.1'
    last = aligner(*made_of).align(ids('a b c'), ids('d'))
    np.testing.assert_array_equal(last.weights, aligner(*made_of, layer=1).align(ids('a b c'), ids('d')).weights)
    assert not np.allclose(last.weights, mean.weights)


@pytest.mark.long
@pytest.mark.parametrize(
    ('choice', 'message'),
    [(dict(layer=2), 'layer 2: .* are 0 to 1'), (dict(head=2), 'head 2: the heads are 0 to 1; -1 is')],
)
def test_what_there_is_not_is_refused(choice, message):
    with pytest.raises(UserError, match=message):
        aligner(*transformer(), **choice).align(ids('a b c'), ids('d'))


def test_a_text_that_took_all_the_room_has_no_end():
    found = aligner(*made(vocabulary=TOKENIZER.size)).align(ids('a b'), ids('a b c d e f'))
    assert found.record()['written'] == ['a', 'b', 'c', 'd', 'e', 'f']
    assert found.weights.shape == (6, 3)


def test_what_does_not_fit_is_refused():
    with pytest.raises(UserError, match='8 source tokens and 0 target tokens do not fit'):
        aligner(*made(vocabulary=TOKENIZER.size)).align(ids('a b c d e f a'), [])


@pytest.mark.long
def test_a_file_has_the_chosen_head_and_a_page_all_of_them(tmp_path):
    made_of = transformer()
    for head in (MEAN, 1):
        found = aligner(*made_of, layer=0, head=head).align(ids('a b c'), ids('d'))
        assert [each.name for each in found.maps] == ['decoder.layers.0.cross', 'decoder.layers.1.cross']
        found.save(tmp_path / 'map.npz', 'a b c \N{RIGHTWARDS ARROW} d', 'runs/toy', 3)
        arrays = np.load(tmp_path / 'map.npz')
        name = f'decoder.layers.0.cross.heads.{"mean" if head == MEAN else head}'
        np.testing.assert_array_equal(arrays[name], found.weights)
        assert arrays['decoder.layers.0.cross.queries'].tolist() == found.record()['written']
        assert arrays['decoder.layers.0.cross.keys'].tolist() == found.record()['read']
        found.save(tmp_path / 'map.html', 'a b c \N{RIGHTWARDS ARROW} d', 'runs/toy', 3)
        page = (tmp_path / 'map.html').read_text()
        assert '<title>Attention: a b c \N{RIGHTWARDS ARROW} d · runs/toy, step 3</title>' in page
        assert [f'id="weights-{layer}-{each}"' in page for layer in range(3) for each in range(2)] == 4 * [True] + 2 * [
            False
        ]
        assert f'"first": {{"map": 0, "head": {2 if head == MEAN else 1}}}' in page
