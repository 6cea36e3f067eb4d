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
from saccade.axes import declared
from saccade.types import Embedding, LayerContext, UserError

PARTS = list(EMBEDDING.found())
B, T, F, V, E = 2, 5, 3, 11, 8
INPUTS = {
    'tokens': jax.random.randint(jax.random.key(0), (B, T), 0, V),
    'frames': jax.random.normal(jax.random.key(0), (B, T, F)),
}
TABLE = jax.random.normal(jax.random.key(1), (V, E))
CONTEXT = LayerContext(jnp.broadcast_to(jnp.arange(T), (B, T)), jnp.ones((B, T), jnp.int32))


@pytest.fixture(params=PARTS, ids=lambda part: part.__name__)
def part(request):
    return request.param()


def of(part, dtype=jnp.float32):
    """The part's parameters and a function of them and the table."""
    inputs = INPUTS[part.reads]
    variables = part.init(jax.random.key(2), inputs, CONTEXT, E, TABLE)
    params = jax.tree.map(lambda leaf: leaf.astype(dtype), variables.get('params', {}))

    def embed(params, table):
        return part.apply({'params': params}, inputs, CONTEXT, E, table)

    return variables, params, embed


def test_there_are_embeddings_of_tokens_and_of_others():
    assert {part.reads for part in PARTS} >= {'tokens', 'frames'}


def test_it_is_an_embedding_with_a_source(part):
    assert isinstance(part, Embedding)
    assert re.search(r'https?://', inspect.getmodule(part).__doc__)


@pytest.mark.parametrize('dtype', [jnp.float32, jnp.bfloat16])
def test_it_gives_one_vector_a_place_in_the_dtype_of_its_parameters(part, dtype):
    _, params, embed = of(part, dtype)
    x, context = embed(params, TABLE.astype(dtype))
    assert (x.shape[0], x.shape[2], x.dtype) == (B, E, dtype)
    assert context.positions.shape == x.shape[:2] == context.segments.shape


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
    (part,) = (part() for part in PARTS if part.reads == 'frames')
    _, params, embed = of(part)
    params = jax.tree.map(lambda leaf: leaf + 0.5, params)
    wanted = np.einsum('BTF,FE->BTE', INPUTS['frames'], params['kernel']) + params['bias']
    np.testing.assert_allclose(embed(params, None)[0], wanted, atol=1e-5)
    with pytest.raises(UserError, match=r'\[B T F\], not the shape \(2, 5\)'):
        part.apply({'params': params}, INPUTS['tokens'], CONTEXT, E, None)


def test_tokens_without_a_vocabulary_are_refused():
    (part,) = (part() for part in PARTS if part.reads == 'tokens')
    with pytest.raises(UserError, match=r'config\.model\.vocabulary: missing'):
        part.apply({}, INPUTS['tokens'], CONTEXT, E, None)
