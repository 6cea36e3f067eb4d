# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The layer context: NumPy arrays and lists in the place of JAX's, and segments in one piece."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import saccade
from saccade.build import build
from saccade.types import LayerContext, Source, UserError

SEGMENTS = np.array([[0, 1, 1, 1, 0, 2, 2], [1, 1, 1, 1, 1, 1, 1]])
POSITIONS = np.array([[0, 0, 1, 2, 0, 0, 1], [0, 1, 2, 3, 4, 5, 6]])
TOKENS = np.arange(14).reshape(2, 7) % 5
X = np.random.default_rng(0).normal(size=(2, 7, 16)).astype(np.float32)
CAUSAL = saccade.mask.Causal()
MIXERS = {
    'rotations': saccade.MultiHead(heads=2, mask=CAUSAL, position=saccade.position.Rotary()),
    'mask by positions': saccade.MultiHead(heads=2, mask=saccade.mask.Chunked(length=3)),
    'blocks': saccade.MultiHead(heads=2, mask=CAUSAL, kernel=saccade.Blockwise(query_block=2, key_block=2)),
    'memory': saccade.SegmentMemory(heads=2, length=4, memory=2, mask=CAUSAL),
    'convolution': saccade.Convolution(size=3, depthwise=True),
    'state': saccade.Retention(heads=2),
}
STACK = {
    'use': 'model.stack:Stack',
    'layers': 1,
    'run': {'use': 'model.stack:Unrolled'},
    'block': {
        'use': 'block.pre_norm:PreNorm',
        'norm': {'use': 'norm.layer:LayerNorm'},
        'mixer': {'use': 'recurrent.mixer.convolution:Convolution', 'size': 3, 'depthwise': True},
        'feedforward': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}},
    },
}
KINDS = {'NumPy': np.asarray, 'lists': lambda x: x.tolist()}


@pytest.mark.long
@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('name', MIXERS)
def test_a_mixer_takes_numpy_arrays_and_lists_inside_and_outside_of_a_program(name, kind):
    mixer, of_kind = MIXERS[name], KINDS[kind]
    variables = mixer.init(jax.random.key(0), jnp.asarray(X))
    wanted = mixer.apply(variables, jnp.asarray(X), LayerContext(jnp.asarray(POSITIONS), jnp.asarray(SEGMENTS)))

    def found():
        return mixer.apply(variables, X, LayerContext(of_kind(POSITIONS), of_kind(SEGMENTS)))

    real = SEGMENTS != 0
    for each in (found(), jax.jit(found)()):
        np.testing.assert_allclose(each[real], wanted[real], atol=1e-5)


EMBEDDINGS = {
    'images': ({'use': 'embed.patch:PatchEmbedding', 'patch': 2}, np.ones((2, 4, 4, 1), np.float32)),
    'class token': (
        {'use': 'embed.class_token:ClassToken', 'embed': {'use': 'embed.patch:PatchEmbedding', 'patch': 2}},
        np.ones((2, 4, 4, 1), np.float32),
    ),
    'padding token': (
        {'use': 'embed.padding_token:PaddingToken', 'token': 0, 'embed': {'use': 'embed.token:TokenEmbedding'}},
        TOKENS,
    ),
    'tokens': ({'use': 'embed.token:TokenEmbedding'}, TOKENS),
}


@pytest.mark.parametrize('name', EMBEDDINGS)
def test_mixers_of_whole_rows_take_those_that_an_embedding_makes_one_segment(name):
    spec, inputs = EMBEDDINGS[name]
    shape = (2, 1) if inputs.ndim == 4 else TOKENS.shape
    context = LayerContext(jnp.zeros(shape, int), jnp.ones(shape, int))
    table = jnp.ones((5, 16))
    (x, made), _ = build(spec)().init_with_output(jax.random.key(0), jnp.asarray(inputs), context, 16, table)
    mixer = saccade.MultiHead(heads=2, kernel=saccade.Linformer(length=9, slots=3))
    if name == 'tokens':
        with pytest.raises(UserError, match='cannot tell segments apart'):
            mixer.init(jax.random.key(0), x, made)
    else:
        assert mixer.init_with_output(jax.random.key(0), x, made)[0].shape == x.shape


@pytest.mark.long
@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('run', ['Unrolled', 'Scanned'])
def test_a_whole_model_takes_numpy_arrays_and_lists(run, kind):
    of_kind = KINDS[kind]
    block = saccade.PreNorm(mixer=MIXERS['rotations'], feedforward=saccade.feedforward.MLP())
    runner = saccade.part_of({'use': f'model.stack:{run}'})
    model = saccade.Decoder(vocabulary=5, width=16, layers=2, context_length=7, block=block, run=runner)
    variables = model.init(jax.random.key(0), jnp.asarray(TOKENS))
    wanted = model.apply(variables, jnp.asarray(TOKENS), LayerContext(jnp.asarray(POSITIONS), jnp.asarray(SEGMENTS)))

    def found():
        return model.apply(variables, of_kind(TOKENS), LayerContext(of_kind(POSITIONS), of_kind(SEGMENTS)))

    for each in (found(), jax.jit(found)()):
        np.testing.assert_allclose(each, wanted, atol=1e-5)


@pytest.mark.long
def test_cross_attention_takes_lists():
    source = Source(X.tolist(), POSITIONS.tolist(), SEGMENTS.tolist())
    mixer, positions = saccade.MultiHead(heads=2), jnp.asarray(POSITIONS)
    variables = mixer.init(jax.random.key(0), X)
    wanted = mixer.apply(variables, X, LayerContext(positions, jnp.asarray(SEGMENTS)))
    found = mixer.apply(variables, X, LayerContext(positions, jnp.asarray(SEGMENTS), source))
    np.testing.assert_allclose(found[SEGMENTS != 0], wanted[SEGMENTS != 0], atol=1e-5)


@pytest.mark.parametrize(
    ('segments', 'message'),
    [
        ([[1, 1, 2, 2], [1, 1, 0, 1]], r'^segments\[1\]: segment 1 is in two pieces; its tokens must be next to each'),
        ([[0, 1, 2, 1]], r'^segments\[0\]: segment 1 is in two pieces'),
        ([[3, 0, 0, 3]], r'^segments\[0\]: segment 3 is in two pieces'),
        ([[True, False, True]], r'^segments\[0\]: segment (1|True) is in two pieces'),
    ],
)
@pytest.mark.parametrize('of_kind', [list, np.asarray, jnp.asarray], ids=['lists', 'NumPy', 'JAX'])
def test_padding_inside_a_segment_of_a_whole_sequence_is_refused(segments, message, of_kind):
    x = jnp.zeros((len(segments), len(segments[0]), 4))
    context = LayerContext(jnp.zeros(x.shape[:2], int), of_kind(segments))
    for part in (saccade.Convolution(size=3, depthwise=True), saccade.MultiHead(heads=2)):
        with pytest.raises(UserError, match=message):
            part.init(jax.random.key(0), x, context)
        with pytest.raises(UserError, match=message):
            jax.eval_shape(lambda x, part=part: part.init(jax.random.key(0), x, context), x)


def test_padding_inside_a_segment_is_refused_by_a_stack_of_layers():
    context = LayerContext(jnp.asarray(POSITIONS[:1]), jnp.array([[1, 1, 0, 1, 1, 1, 1]]))
    with pytest.raises(UserError, match=r'^segments\[0\]: segment 1 is in two pieces'):
        jax.eval_shape(lambda x: build(STACK)().init(jax.random.key(0), x, context, False), jnp.asarray(X[:1]))


@pytest.mark.parametrize(
    'segments',
    [[[0, 0, 1, 1, 0]], [[1, 1, 0, 2, 2], [0, 0, 0, 0, 0]], [[2, 2, 1, 1, 3], [1, 1, 1, 1, 1]], [[0, 1, 0, 2, 0]]],
)
def test_padding_around_segments_is_not(segments):
    LayerContext(jnp.zeros((len(segments), 5), int), np.array(segments)).require_whole_segments()


def test_nothing_is_checked_while_tracing_and_shapes_may_stand_for_segments():
    def real(segments):
        context = LayerContext(segments, segments)
        context.require_whole_segments()
        return context.real

    assert jax.jit(real)(jnp.array([[1, 0, 1]])).tolist() == [[True, False, True]]
