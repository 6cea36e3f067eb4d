# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The recurrent sequence to sequence model with each of its decoders: steps, padding, and what depends on what."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build, lacking
from saccade.types import LayerContext, Seq2Seq, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, S, T, V, D = 3, 7, 6, 13, 8
SOURCE_SEGMENTS = jnp.array([[1] * length + [0] * (S - length) for length in (7, 4, 5)])
SEGMENTS = jnp.array([[1] * length + [0] * (T - length) for length in (6, 3, 6)])
SOURCE, TOKENS = (jnp.array(np.random.default_rng(n).integers(0, V, shape)) for n, shape in enumerate([(B, S), (B, T)]))

ADDITIVE = {'use': 'recurrent.score.additive:Additive', 'width': 6}
SOFT = {'use': 'recurrent.decoder.soft:Soft', 'score': ADDITIVE}
DECODERS = {
    'initial context': {'use': 'recurrent.decoder.fixed_context:FixedContext', 'fed': False},
    'context at every step': {'use': 'recurrent.decoder.fixed_context:FixedContext', 'fed': True},
    'Bahdanau': {'use': 'recurrent.decoder.bahdanau:Bahdanau', 'attention': SOFT},
    'Luong': {'use': 'recurrent.decoder.luong:Luong', 'attention': SOFT, 'input_feeding': False},
    'Luong, input feeding': {'use': 'recurrent.decoder.luong:Luong', 'attention': SOFT, 'input_feeding': True},
}
ATTENTIVE = [name for name, given in DECODERS.items() if 'attention' in given]


def spec(decoder, cell='lstm:LSTM', bidirectional=True, bridge='projected:Projected', layers=2, **more):
    cell = {'use': f'recurrent.cell.{cell}', 'width': D}
    given = {
        'use': 'model.recurrent_seq2seq:RecurrentSeq2Seq',
        'vocabulary': V,
        'context_length': 9,
        'source_context_length': 8,
        'width': D,
        'encoder': {'use': 'recurrent.encoder:Encoder', 'cell': cell, 'layers': 1, 'bidirectional': bidirectional},
        'bridge': {'use': f'recurrent.decoder.{bridge}'},
        'decoder': {**(DECODERS[decoder] if isinstance(decoder, str) else decoder), 'cell': cell, 'layers': layers},
        'tied': True,
    }
    return given | more


def context(segments):
    return LayerContext(jnp.tile(jnp.arange(segments.shape[1]), (segments.shape[0], 1)), segments)


@functools.partial(jax.jit, static_argnames=('model', 'train', 'mutable'))
def called(model, params, source=SOURCE, tokens=TOKENS, key=None, train=False, mutable=()):
    rngs = {} if key is None else {'dropout': key}
    contexts = context(SOURCE_SEGMENTS), context(SEGMENTS)
    logits, reported = model.apply(
        params, source, contexts[0], tokens, contexts[1], train, rngs=rngs, mutable=list(mutable)
    )
    return (logits, reported) if mutable else logits


@functools.partial(jax.jit, static_argnums=0)
def read(model, params):
    return model.apply(params, SOURCE, context(SOURCE_SEGMENTS), T, method='encode')


@functools.partial(jax.jit, static_argnums=0)
def step(model, params, tokens, segments, state):
    return model.apply(params, tokens, segments, state, method='step')


def trained(decoder, **more):
    """A model, and parameters none of which is the zero or the one that it starts from."""
    model = build(spec(decoder, **more))()
    shapes = jax.eval_shape(
        lambda: model.init(jax.random.key(0), SOURCE, context(SOURCE_SEGMENTS), TOKENS, context(SEGMENTS), False)
    )
    random = np.random.default_rng(1)
    return model, jax.tree.map(lambda leaf: jnp.array(random.normal(0, 0.5, leaf.shape), leaf.dtype), shapes)


def assert_near(given, expected):
    given, expected = np.asarray(given), np.asarray(expected)
    np.testing.assert_allclose(given, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


def stepped(model, params, chunks):
    state = read(model, params)
    found, start = [], 0
    for count in chunks:
        here = slice(start, start + count)
        logits, state = step(model, params, TOKENS[:, here], SEGMENTS[:, here], state)
        found.append(logits)
        start += count
    return jnp.concatenate(found, axis=1), state


@pytest.mark.long
@pytest.mark.parametrize('decoder', DECODERS)
def test_steps_replay_the_whole(decoder):
    model, params = trained(decoder)
    whole, real = called(model, params), SEGMENTS != 0
    assert whole.shape == (B, T, V)
    for chunks in (T * (1,), (2, 3, 1)):
        assert_near(stepped(model, params, chunks)[0][real], whole[real])


LOOKS = {
    'hard': {'use': 'recurrent.decoder.hard:Hard', 'estimator': {'use': 'recurrent.decoder.reinforce:Reinforce'}},
    'local-m': {'use': 'recurrent.decoder.local_monotonic:LocalMonotonic', 'reach': 1},
    'local-p': {'use': 'recurrent.decoder.local_predictive:LocalPredictive', 'reach': 1},
}


@pytest.mark.long
@pytest.mark.parametrize('decoder', ['Bahdanau', 'Luong'])
@pytest.mark.parametrize('look', LOOKS)
def test_any_attention_takes_the_place_of_the_soft_one(decoder, look):
    model, params = trained({**DECODERS[decoder], 'attention': {**LOOKS[look], 'score': ADDITIVE}}, layers=1)
    whole, reported = called(model, params, mutable=('pattern',))
    weights = reported['pattern']['decoder']['pattern'].value
    assert weights.shape == (B, 1, T, S)
    np.testing.assert_array_equal(weights[:, 0] * (SOURCE_SEGMENTS == 0)[:, None], 0.0)
    real = SEGMENTS != 0
    assert_near(stepped(model, params, (2, 3, 1))[0][real], whole[real])


@pytest.mark.long
@pytest.mark.parametrize('decoder', DECODERS)
def test_padding_of_the_source_and_of_what_is_written_changes_nothing(decoder):
    model, params = trained(decoder)
    other_source = jnp.where(SOURCE_SEGMENTS == 0, (SOURCE + 1) % V, SOURCE)
    other_tokens = jnp.where(SEGMENTS == 0, (TOKENS + 1) % V, TOKENS)
    before, after = called(model, params), called(model, params, other_source, other_tokens)
    np.testing.assert_array_equal(before[SEGMENTS != 0], after[SEGMENTS != 0])
    source, tokens = (SOURCE[1:2, :4], context(SOURCE_SEGMENTS[1:2, :4])), (TOKENS[1:2, :3], context(SEGMENTS[1:2, :3]))
    alone = jax.jit(lambda params: model.apply(params, *source, *tokens, False))(params)
    assert_near(alone[0], before[1, :3])


@pytest.mark.long
@pytest.mark.parametrize('decoder', DECODERS)
def test_the_state_of_a_finished_row_stays_as_it_is(decoder):
    model, params = trained(decoder)
    _, whole = stepped(model, params, (3, 3))
    _, part = stepped(model, params, (3,))
    for after, before in zip(jax.tree.leaves(whole), jax.tree.leaves(part), strict=True):
        np.testing.assert_array_equal(after[1], before[1])
        assert after.shape[0] == B


@pytest.mark.long
@pytest.mark.parametrize('decoder', DECODERS)
def test_no_token_depends_on_a_later_one_and_every_one_depends_on_all_of_the_source(decoder):
    """By the Jacobian of the logits by the embeddings of the tokens, of which every one has its own."""
    model, params = trained(decoder, source_vocabulary=V, tied=False)
    places = [(jnp.arange(length)[None], context(jnp.ones((1, length), int))) for length in (S, T)]

    def logits(by_source, by_tokens):
        own = params['params'] | {'source_embedding': by_source, 'embedding': by_tokens}
        return model.apply({'params': own}, *places[0], *places[1], False)[0, :, 0]

    tables = params['params']['source_embedding'], params['params']['embedding']
    by_source, by_tokens = (np.abs(found).max(-1) for found in jax.jit(jax.jacrev(logits, (0, 1)))(*tables))
    assert (by_source[:, :S] > 0).all()
    np.testing.assert_array_equal(by_tokens[:, :T] > 0, np.tri(T, dtype=bool))


@pytest.mark.long
@pytest.mark.parametrize('decoder', DECODERS)
def test_every_parameter_has_a_finite_gradient(decoder):
    model, params = trained(decoder, tied=False, source_vocabulary=V)
    direction = jnp.array(np.random.default_rng(2).normal(size=(B, T, V)), jnp.float32)
    gradients = jax.jit(jax.grad(lambda params: (direction * called(model, params)).sum()))(params)
    for leaf in jax.tree.leaves(gradients):
        assert np.isfinite(leaf).all()
        assert np.abs(leaf).max() > 0


@pytest.mark.long
@pytest.mark.parametrize('decoder', ATTENTIVE)
def test_weights_over_the_source_are_reported_as_attention_kernels_report_them(decoder):
    model, params = trained(decoder)
    logits, reported = called(model, params, mutable=('pattern',))
    weights = reported['pattern']['decoder']['pattern'].value
    assert weights.shape == (B, 1, T, S)
    real = SEGMENTS != 0
    np.testing.assert_allclose(weights[:, 0].sum(-1)[real], 1.0, atol=1e-6)
    np.testing.assert_array_equal(weights[:, 0] * (SOURCE_SEGMENTS == 0)[:, None], 0.0)
    np.testing.assert_array_equal(logits, called(model, params))


@pytest.mark.parametrize('decoder', DECODERS)
def test_reading_is_done_once_and_a_step_reads_no_token_of_the_source(decoder):
    model, params = trained(decoder)
    state = jax.eval_shape(lambda: model.apply(params, SOURCE, context(SOURCE_SEGMENTS), T, method='encode'))
    encoder = jax.tree.map(lambda leaf: leaf, params['params'])
    del encoder['encoder'], encoder['bridge']
    logits, _ = jax.eval_shape(
        lambda state: model.apply({'params': encoder}, TOKENS[:, :1], SEGMENTS[:, :1], state, method='step'), state
    )
    assert logits.shape == (B, 1, V)


def test_it_is_a_sequence_to_sequence_model():
    assert lacking(build(spec('Bahdanau')).target, Seq2Seq) == []


@pytest.mark.long
def test_a_copied_state_is_the_one_that_the_encoder_ended_with():
    model, params = trained('initial context', bidirectional=False, bridge='copied:Copied', layers=1)
    state = read(model, params)
    embedded = params['params']['embedding'][SOURCE]
    encoder = {'params': params['params']['encoder']}
    encoded = model.encoder().apply(encoder, embedded, context(SOURCE_SEGMENTS), False)
    for layer, begun in zip(encoded.states, state.decoder.cells, strict=True):
        np.testing.assert_array_equal(layer[0].h, begun.h)
        np.testing.assert_array_equal(layer[0].c, begun.c)


@pytest.mark.parametrize(('bidirectional', 'layers'), [(True, 1), (True, 2), (False, 2)])
def test_a_state_that_does_not_fit_is_refused(bidirectional, layers):
    """As many states as the decoder has layers are not enough, where they are of two directions."""
    with pytest.raises(UserError, match=r'copied:Copied needs an encoder of one direction'):
        trained('initial context', bidirectional=bidirectional, layers=layers, bridge='copied:Copied')


@pytest.mark.parametrize('fed', [False, True])
def test_a_fixed_context_is_all_that_is_known_of_the_source(fed):
    model, params = trained('context at every step' if fed else 'initial context')
    state = read(model, params)
    assert (state.decoder.source is not None) == fed
    assert max(leaf.size for leaf in jax.tree.leaves(state)) <= B * 2 * D  # of both directions, whatever S


def test_a_fed_context_reaches_later_steps_by_itself():
    model, params = trained('context at every step')
    state = read(model, params)
    other = state.replace(decoder=state.decoder.replace(source=state.decoder.source + 1.0))
    first, changed = (step(model, params, TOKENS[:, :1], SEGMENTS[:, :1], known)[0] for known in (state, other))
    assert np.abs(first - changed).max() > 1e-3


def test_separate_vocabularies_have_separate_embeddings():
    assert 'source_embedding' not in trained('Bahdanau')[1]['params']
    assert trained('Bahdanau', source_vocabulary=17)[1]['params']['source_embedding'].shape == (17, D)


def test_an_output_projection_of_its_own():
    _, params = trained('Luong', tied=False)
    assert params['params']['head']['kernel'].shape == (D, V)


def test_a_tied_output_must_be_as_wide_as_the_embedding():
    with pytest.raises(UserError, match='tied needs a decoder as wide'):
        trained('Luong', width=D + 1)


@pytest.mark.parametrize(
    ('what', 'short'), [('source', {'source_context_length': 6}), ('sequence', {'context_length': 5})]
)
def test_what_is_too_long_is_refused(what, short):
    with pytest.raises(UserError, match=f'a {what} of . tokens does not fit'):
        trained('Bahdanau', **short)


@pytest.mark.long
@pytest.mark.parametrize('decoder', DECODERS)
def test_dropout_acts_in_training_alone(decoder):
    model, params = trained(decoder, dropout=0.5)
    runs = [called(model, params, key=jax.random.key(n), train=True) for n in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert np.abs(runs[0] - runs[2]).max() > 0.01
    assert_near(called(model, params), called(*trained(decoder)))
