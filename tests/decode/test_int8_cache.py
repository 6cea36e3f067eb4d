# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""KV caches in int8: every vector is rounded once, so tokens are the same in pages, by beams and with a draft."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_models import make, model_spec

from saccade.attention.cache import Cache
from saccade.decode.beam import Beam, generate_beams
from saccade.decode.generate import generate
from saccade.decode.int8_cache import Int8Cache
from saccade.decode.paged import Paging, generate_paged
from saccade.decode.sample import Writer
from saccade.decode.sampling import Sampler
from saccade.decode.speculate import Draft, generate_drafted
from saccade.ops.int8 import Int8
from saccade.types import UserError

GREEDY, KEY, NEW = Sampler(0.0), jax.random.key(3), 30
PROMPTS = ([(3 * place) % 251 for place in range(40)], [7, 3], [])


def caches(model, params, capacity=100):
    tokens = jnp.zeros((2, 1), jnp.int32)
    state = jax.eval_shape(lambda: model.apply({'params': params}, tokens, capacity, method='init_state'))
    nodes = jax.tree.leaves(state, is_leaf=lambda node: isinstance(node, Cache))
    return [node for node in nodes if isinstance(node, Cache)]


def size(tree):
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


@pytest.mark.parametrize('dtype', [jnp.float32, jnp.bfloat16])
def test_an_element_is_off_by_half_of_the_scale_of_its_vector(dtype):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3, 64)) * 10.0 ** np.arange(-1, 2)[:, None], dtype)
    x = x.at[0, 0].set(0)
    kept = Int8.of(x, dtype)
    assert kept.values.dtype == jnp.int8
    assert kept.vectors().dtype == dtype
    exact = np.asarray(x, np.float64)
    most = np.abs(exact).max(-1, keepdims=True)
    rounding = 0 if dtype == jnp.float32 else 2.0**-8 * np.abs(exact)
    assert (np.abs(np.asarray(kept.vectors(), np.float64) - exact) <= most / 254 * (1 + 1e-6) + rounding).all()
    np.testing.assert_array_equal(kept.vectors()[0, 0], 0)


def test_a_vector_with_an_element_that_is_no_number_has_none():
    found = Int8.of(jnp.array([[1.0, jnp.nan], [1.0, jnp.inf], [1.0, 2.0]]), jnp.float32).vectors()
    assert not np.isfinite(found[:2]).any()
    assert np.isfinite(found[2]).all()


def test_keys_and_values_take_a_byte_an_element_and_four_a_vector(hybrid):
    model, params = hybrid
    exact, rounded = (caches(each, params) for each in (model, Int8Cache(model)))
    assert len(exact) == len(rounded) == 3  # of attention, in a window, and of latents
    for one, other in zip(exact, rounded, strict=True):
        for name in ('k', 'v'):
            whole = getattr(one, name)
            vectors = whole.size // max(1, whole.shape[-1])
            assert size(getattr(other, name)) == whole.size + 4 * vectors


def assert_near_the_exact_logits(model, params):
    params = jax.tree.map(lambda leaf: leaf / 10, params)  # as they are made: else one key has all the weight
    tokens = jnp.asarray(np.random.default_rng(1).integers(1, 250, (2, 24)), jnp.int32)
    found = []
    for each in (model, Int8Cache(model)):
        state = each.apply({'params': params}, tokens, 24, method='init_state')
        logits = []
        for start in (0, 10, 20, 21, 22, 23):
            chunk = tokens[:, start : {0: 10, 10: 20}.get(start, start + 1)]
            segments = jnp.ones_like(chunk)
            made, state = each.apply({'params': params}, chunk, segments, state, method='step')
            logits.append(np.asarray(made))
        found.append(np.concatenate(logits, axis=1))
    off = np.abs(found[1] - found[0]).max() / np.abs(found[0]).max()
    assert 1e-6 < off < 0.05


def test_logits_are_near_the_exact_ones(rotary):
    assert_near_the_exact_logits(*rotary)


@pytest.mark.long
@pytest.mark.parametrize('name', ['windowed', 'hybrid', 'learned'])
def test_logits_of_other_caches_are_near_the_exact_ones(name, request):
    assert_near_the_exact_logits(*request.getfixturevalue(name))


@pytest.mark.long
@pytest.mark.parametrize('name', ['rotary', 'windowed', 'hybrid'])
def test_in_pages_and_with_a_draft_tokens_are_those_of_the_plain_loop(name, request):
    model, params = request.getfixturevalue(name)
    model = Int8Cache(model)
    plain = generate(model, params, PROMPTS, GREEDY, NEW, KEY)
    assert plain[1] == generate(model, params, PROMPTS[1:2], GREEDY, NEW, KEY)[0]  # no other row changes it
    paged, usage = generate_paged(model, params, PROMPTS, GREEDY, NEW, KEY, paging=Paging(16))
    assert paged == plain
    exact = generate_paged(model.model, params, PROMPTS, GREEDY, NEW, KEY, paging=Paging(16))[1]
    assert usage.bytes < exact.bytes
    small = make(model_spec(layers=1, width=8))
    assert generate_drafted(model, params, Draft(*small, 4), PROMPTS, GREEDY, NEW, KEY)[0] == plain
    first = [row[0][0] for row in generate_beams(model, params, PROMPTS, Beam(1, alpha=0.0), NEW)]
    assert first == plain


def test_a_writer_decodes_in_int8(rotary, tokenizer):
    model, params = rotary
    exact, rounded = (Writer(model, params, tokenizer, GREEDY, int8=int8) for int8 in (False, True))
    prompt, _ = exact.laid_out('ab', 8)
    for writer, decoded in ((exact, model), (rounded, Int8Cache(model))):
        (wanted,) = generate(decoded, params, [prompt], GREEDY, 8, KEY)
        assert writer.write('ab', KEY, 8)[0].tokens == wanted


def test_a_model_without_a_kv_cache_is_refused():
    spec = model_spec(layers=1)
    spec['block']['mixer'] = {'use': 'attention.retention:Retention', 'heads': 4}
    model, params = make(spec)
    with pytest.raises(UserError, match='no KV cache'):
        generate(Int8Cache(model), params, [[1]], GREEDY, 2, KEY)
