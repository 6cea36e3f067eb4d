# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What every embedding must do: each file of the room `embed`."""

import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.analysis.catalogue.catalogue import EMBEDDING
from saccade.axes import declared, recorded_axes
from saccade.build import build
from saccade.embed.class_token import ClassToken
from saccade.embed.frame import FrameEmbedding
from saccade.embed.image_and_text import ImageAndText
from saccade.embed.patch import PatchEmbedding
from saccade.embed.token import TokenEmbedding
from saccade.position.learned import Learned
from saccade.position.learned_grid import LearnedGrid
from saccade.types import Embedding, LayerContext, Part, UserError

PARTS = list(EMBEDDING.found())
B, T, F, V, E = 2, 5, 3, 11, 8
INPUTS = {
    'tokens': jax.random.randint(jax.random.key(0), (B, T), 0, V),
    'frames': jax.random.normal(jax.random.key(0), (B, T, F)),
    'images': jax.random.normal(jax.random.key(0), (B, 4, 6, F)),
}
INPUTS['images', 'tokens'] = INPUTS['images'], INPUTS['tokens']
PLACES = {'images': 1}  # of what is no sequence
TABLE = jax.random.normal(jax.random.key(1), (V, E))


@pytest.fixture(params=PARTS, ids=lambda part: part.__name__)
def part(request):
    return made(request.param)


def made(part):
    return build(EMBEDDING.spec(part), 'embed')()


def context_of(reads):
    shape = (B, PLACES.get(reads, T))
    return LayerContext(jnp.broadcast_to(jnp.arange(shape[1]), shape), jnp.ones(shape, jnp.int32))


def of(part, dtype=jnp.float32):
    """The part's parameters and a function of them and the table."""
    inputs, context = INPUTS[part.reads], context_of(part.reads)
    with recorded_axes():
        variables = part.init(jax.random.key(2), inputs, context, E, TABLE)
    params = jax.tree.map(lambda leaf: leaf.astype(dtype), variables.get('params', {}))

    def embed(params, table):
        return part.apply({'params': params}, inputs, context, E, table)

    return variables, params, embed


def test_there_are_embeddings_of_tokens_and_of_others():
    assert {made(part).reads for part in PARTS} >= {'tokens', 'frames', 'images'}


def test_it_is_an_embedding_with_a_source(part):
    assert isinstance(part, Embedding)
    assert re.search(r'https?://', inspect.getmodule(part).__doc__)


@pytest.mark.parametrize('dtype', [jnp.float32, jnp.bfloat16])
def test_it_gives_one_vector_a_place_in_the_dtype_of_its_parameters(part, dtype):
    _, params, embed = of(part, dtype)
    x, context = embed(params, TABLE.astype(dtype))
    assert (x.shape[0], x.shape[2], x.dtype) == (B, E, dtype)
    assert context.positions.shape == x.shape[:2] == context.segments.shape
    np.testing.assert_array_equal(context.positions, np.broadcast_to(np.arange(x.shape[1]), x.shape[:2]))
    assert (context.segments == 1).all()


@pytest.mark.long
def test_jit_is_eager_and_gradients_are_finite(part):
    _, params, embed = of(part)
    np.testing.assert_allclose(jax.jit(embed)(params, TABLE)[0], embed(params, TABLE)[0], atol=1e-6)
    gradients = jax.grad(lambda given: (embed(*given)[0] ** 2).sum())((params, TABLE))
    assert all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients))
    assert any(jnp.abs(leaf).sum() > 0 for leaf in jax.tree.leaves(gradients))


def test_every_parameter_declares_its_axes(part):
    variables, params, _ = of(part)
    assert len(declared(variables)) == len(jax.tree.leaves(params))


def test_frames_are_a_linear_map():
    part = FrameEmbedding()
    _, params, embed = of(part)
    params = jax.tree.map(lambda leaf: leaf + 0.5, params)
    wanted = np.einsum('BTF,FE->BTE', INPUTS['frames'], params['kernel']) + params['bias']
    np.testing.assert_allclose(embed(params, None)[0], wanted, atol=1e-5)
    with pytest.raises(UserError, match=r'\[B T F\], not the shape \(2, 5\)'):
        part.apply({'params': params}, INPUTS['tokens'], context_of('tokens'), E, None)


def test_padding_stays_padding(part):
    inputs, context = INPUTS[part.reads], context_of(part.reads)
    context = context.replace(segments=context.segments.at[1].set(0), positions=context.positions.at[1].set(0))
    _, found = part.apply(part.init(jax.random.key(0), inputs, context, E, TABLE), inputs, context, E, TABLE)
    assert (found.segments[0] == 1).all()
    assert not found.segments[1].any()


def test_patches_are_a_convolution_whose_stride_is_its_size():
    part = PatchEmbedding(patch=2)
    variables = part.init(jax.random.key(2), INPUTS['images'], context_of('images'), E, None)
    x, _ = part.apply(variables, INPUTS['images'], context_of('images'), E, None)
    kernel = variables['params']['kernel']
    convolved = jax.lax.conv_general_dilated(
        INPUTS['images'], kernel, (2, 2), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC')
    )
    np.testing.assert_allclose(x, convolved.reshape(B, 6, E), atol=1e-5)
    with pytest.raises(UserError, match='patches of 4 pixels do not divide images of 4 by 6'):
        PatchEmbedding(patch=4).init(jax.random.key(2), INPUTS['images'], context_of('images'), E, None)
    with pytest.raises(UserError, match=r'axes \[B rows columns channels\], not the shape \(2, 5\)'):
        part.apply(variables, INPUTS['tokens'], context_of('tokens'), E, None)


def test_a_class_token_stands_before_what_another_embedding_makes():
    part = ClassToken(embed=Part(FrameEmbedding))
    context = context_of('frames')
    variables = part.init(jax.random.key(2), INPUTS['frames'], context, E, None)
    variables = jax.tree.map(lambda leaf: leaf + 0.5, variables)
    x, _ = part.apply(variables, INPUTS['frames'], context, E, None)
    inner, _ = FrameEmbedding().apply({'params': variables['params']['embed']}, INPUTS['frames'], context, E, None)
    np.testing.assert_array_equal(x[:, 1:], inner)
    np.testing.assert_array_equal(x[:, 0], np.broadcast_to(variables['params']['token'], (B, E)))


def test_an_image_and_a_text_are_the_places_of_both_with_positions_within_each():
    part = ImageAndText(
        image=Part(PatchEmbedding, (('patch', 2),)),
        image_position=Part(LearnedGrid, (('rows', 2), ('columns', 3))),
        text_position=Part(Learned, (('length', T),)),
    )
    inputs, context = INPUTS[part.reads], context_of(part.reads)
    context = context.replace(
        segments=context.segments.at[1, 3:].set(0),
        positions=context.positions.at[1, 3:].set(0),
        types=jnp.ones((B, T), jnp.int32),
    )
    with recorded_axes():
        variables = part.init(jax.random.key(2), inputs, context, E, TABLE)
    x, found = part.apply(variables, inputs, context, E, TABLE)
    params = variables['params']
    patches, _ = PatchEmbedding(patch=2).apply({'params': params['image']}, inputs[0], context_of('images'), E, None)
    image = patches + params['image_position']['positions'] + params['modal'][0]
    text = TABLE[inputs[1]] + params['text_position']['positions'][context.positions] + params['modal'][1]
    np.testing.assert_allclose(x, jnp.concatenate([image, text], axis=1), atol=1e-6)
    assert found.positions.tolist() == [[*range(11)], [*range(9), 0, 0]]
    assert found.segments.tolist() == [11 * [1], 9 * [1] + [0, 0]]
    assert found.types.tolist() == 2 * [6 * [0] + 5 * [1]]


def test_tokens_without_a_vocabulary_are_refused():
    part = TokenEmbedding()
    with pytest.raises(UserError, match=r'config\.model\.vocabulary: missing'):
        part.apply({}, INPUTS['tokens'], context_of('tokens'), E, None)
