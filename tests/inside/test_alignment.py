# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Alignments of a toy, of a recurrent model and of a Transformer; and their pictures."""

import re
import struct

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_seq2seq import made

from saccade.build import build
from saccade.data.rows.pair_frame import PairFrame
from saccade.data.tokenizer.word import Word
from saccade.decode.translator import Rendering
from saccade.inside.alignment import Aligner, Alignment
from saccade.inside.alignment_picture import save
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
    assert found.read == [*source.split(), '<|end|>']
    assert found.written == [*target.split(), '<|end|>']
    assert found.weights.shape == (len(found.written), len(found.read))
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
    ('make', 'what'), [(transformer, 'layer 2 of 2, mean of its heads'), (recurrent, 'layer 1 of 1')]
)
@pytest.mark.parametrize(('source', 'target'), [('a b c', 'd'), ('a b', 'c d')])
def test_recurrent_models_and_transformers_have_alignments(make, what, source, target):
    found = aligner(*make()).align(ids(source), ids(target))
    assert found.what == what
    assert found.weights.shape == (len(found.written), len(found.read))
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=CLOSE)


@pytest.mark.long
def test_a_layer_and_a_head_of_it_can_be_chosen():
    made_of = transformer()
    mean, *heads = (aligner(*made_of, layer=1, head=head).align(ids('a b c'), ids('d')) for head in range(3))
    np.testing.assert_allclose(mean.weights, (heads[0].weights + heads[1].weights) / 2, atol=CLOSE)
    assert not np.allclose(heads[0].weights, heads[1].weights)
    assert heads[1].what == 'layer 1 of 2, head 2'
    last = aligner(*made_of).align(ids('a b c'), ids('d'))
    np.testing.assert_array_equal(last.weights, aligner(*made_of, layer=2).align(ids('a b c'), ids('d')).weights)
    assert not np.allclose(last.weights, mean.weights)


@pytest.mark.long
@pytest.mark.parametrize(
    ('choice', 'message'),
    [(dict(layer=3), 'layer 3: .* are 1 to 2'), (dict(head=3), 'head 3: the heads are 1 to 2')],
)
def test_what_there_is_not_is_refused(choice, message):
    with pytest.raises(UserError, match=message):
        aligner(*transformer(), **choice).align(ids('a b c'), ids('d'))


def test_a_text_that_took_all_the_room_has_no_end():
    found = aligner(*made(vocabulary=TOKENIZER.size)).align(ids('a b'), ids('a b c d e f'))
    assert found.written == ['a', 'b', 'c', 'd', 'e', 'f']
    assert found.weights.shape == (6, 3)


def test_what_does_not_fit_is_refused():
    with pytest.raises(UserError, match='8 source tokens and 0 target tokens do not fit'):
        aligner(*made(vocabulary=TOKENIZER.size)).align(ids('a b c d e f a'), [])


SEEN = Alignment(['<g>', '$x$'], ['ä', 'b & c', '漢'], np.array([[0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]), 'layer 1 of 1')


def test_a_picture_is_a_png_of_some_size(tmp_path):
    save(SEEN, tmp_path / 'map.png')
    content = (tmp_path / 'map.png').read_bytes()
    assert content.startswith(b'\x89PNG')
    width, height = struct.unpack('>II', content[16:24])
    assert width > 200
    assert height > 150
    assert [file.name for file in tmp_path.iterdir()] == ['map.png']


@pytest.mark.parametrize('name', ['map.svg', 'map.html'])
def test_it_says_what_its_axes_and_its_colours_are(name, tmp_path):
    save(SEEN, tmp_path / name)
    shown = (tmp_path / name).read_text()
    for said in ('source tokens, read', 'target tokens, written', 'attention weight', 'layer 1 of 1'):
        assert said in shown


def test_the_scale_of_a_page_ends_with_the_largest_weight_in_its_colour(tmp_path):
    half = Alignment(['a', 'b'], ['c', 'd'], np.array([[0.25, 0.25], [0.0, 0.5]]), 'layer 1 of 1')
    save(half, tmp_path / 'map.html')
    page = (tmp_path / 'map.html').read_text()
    cells = dict(re.findall(r'<td title="(.*?)" style="background: (#[0-9a-f]{6})">', page))
    first, *_, last = re.search(r'linear-gradient\(to right, (.*?)\)', page)[1].split(', ')
    assert (cells['b ← d: 0.500'], cells['b ← c: 0.000']) == (last, first) == (last, '#ffffff')
    assert cells['a ← c: 0.250'] == cells['a ← d: 0.250'] not in (first, last)
    assert '</i>0.500</div>' in page


def test_a_page_tells_each_weight_and_shows_tokens_as_they_are(tmp_path):
    save(SEEN, tmp_path / 'map.html')
    page = (tmp_path / 'map.html').read_text()
    assert page.count('<td ') == 6
    assert '<th>b &amp; c</th>' in page
    assert '<th>&lt;g&gt;</th>' in page
    assert 'title="$x$ ← 漢: 1.000"' in page
    assert not re.search(r'https?://|src=', page)


def test_another_ending_or_a_missing_folder_is_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(UserError, match=r'ends in \.png, \.svg, \.pdf, \.html'):
        save(SEEN, tmp_path / 'map.txt')
    with pytest.raises(UserError, match='cannot write the alignment'):
        save(SEEN, tmp_path / 'none' / 'map.html')
    assert not list(tmp_path.iterdir())
