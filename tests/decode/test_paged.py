# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generation with a KV cache in pages: equal to the plain cache, with shared, freed and missing pages."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_models import make, model_spec
from typing_extensions import get_protocol_members

from saccade.decode.generate import generate
from saccade.decode.loop import Writing
from saccade.decode.paged import Paging, _advance, _empty, generate_paged
from saccade.decode.rules import FREE, TokenRules
from saccade.decode.sample import Writer
from saccade.decode.sampling import Sampler
from saccade.model.stack import unstacked
from saccade.types import LanguageModel, Pages, UserError

SAMPLED = Sampler(1.0, 40, 0.95, 0.01)
KEY = jax.random.key(3)
COMMON = [(3 * place) % 251 for place in range(40)]
# Of one beginning, of two pages and of five of it; the same twice; and an empty one.
PROMPTS = ([*COMMON, 9, 9], [*COMMON[:19], 5, 6, 7], [*COMMON, 1], [*COMMON, 9, 9], [], COMMON[:3])
NEW = 30


@pytest.mark.long
@pytest.mark.parametrize('name', ['rotary', 'learned', 'windowed', 'hybrid'])
@pytest.mark.parametrize('size', [5, 16])
def test_prompts_that_share_a_beginning_equal_the_plain_cache(name, size, request):
    model, params = request.getfixturevalue(name)
    plain = generate(model, params, PROMPTS, SAMPLED, NEW, KEY)
    paged, usage = generate_paged(model, params, PROMPTS, SAMPLED, NEW, KEY, paging=Paging(size))
    assert paged == plain
    assert usage.pages == usage.pool
    if size == 16:  # 2 pages are shared by three prompts, and 1 by one more; new tokens are 30 in each
        own = [5 - 2, 4 - 1, 5 - 2, 5 - 2, 2, 2]
        assert usage.pages == 2 + sum(own)


@pytest.mark.long
def test_a_page_can_be_longer_than_the_context(rotary):
    model, params = rotary
    prompts = 2 * [[*range(150)]]
    paged, usage = generate_paged(model, params, prompts, SAMPLED, 4, KEY, paging=Paging(256))
    assert paged == generate(model, params, prompts, SAMPLED, 4, KEY)
    assert usage.pages == 2


@pytest.mark.long
def test_the_state_of_a_fixed_size_is_a_copy_at_the_end_of_the_shared_pages(hybrid):
    """Were it the state at the prompt's end, or an empty one, the second prompt's tokens would be others."""
    model, params = hybrid
    prompts = PROMPTS[:2]
    (alone,), _ = generate_paged(model, params, prompts[1:], Sampler(0.0), NEW, KEY, paging=Paging(16))
    (_, shared), _ = generate_paged(model, params, prompts, Sampler(0.0), NEW, KEY, paging=Paging(16))
    assert shared == alone


@pytest.mark.long
def test_rows_that_end_return_their_pages_and_others_use_them(rotary):
    model, params = rotary
    prompts = 6 * [COMMON[:20]]
    endless = generate(model, params, prompts, SAMPLED, NEW, KEY)
    ends = tuple({row[4] for row in endless[:4]})  # four rows end early at least
    given = prompts, SAMPLED, NEW, KEY, None, TokenRules(ends=ends)
    plain = generate(model, params, *given)
    assert sum(len(row) < 6 for row in plain) >= 4
    paged, usage = generate_paged(model, params, *given, paging=Paging(4))
    assert paged == plain
    assert usage.pages < usage.pool
    least = usage.pages
    again, tight = generate_paged(model, params, *given, paging=Paging(4, least))
    assert again == plain
    assert tight.pool == tight.pages == least
    message = f'all {least - 1} pages of 4 tokens are in use after .* new tokens; 6 texts of 30 new tokens need'
    with pytest.raises(UserError, match=f'{message} {usage.pool} pages of 4 tokens; set pages to {usage.pool} at most'):
        generate_paged(model, params, *given, paging=Paging(4, least - 1))


@pytest.mark.long
def test_a_pool_that_cannot_be_enough_is_refused_before_anything_is_compiled(rotary):
    given = *rotary, 16 * [COMMON], SAMPLED, NEW, KEY
    with pytest.raises(UserError, match='a pool of 49 pages is too small: 16 texts of 30 new tokens') as refused:
        generate_paged(*given, paging=Paging(16, 49))
    assert 'need 50 pages of 16 tokens; set pages to 50' in str(refused.value)
    with pytest.raises(UserError, match='a pool of 17 pages is too small'):  # 2 for the prompt, and 16 to begin with
        generate_paged(*given, end=1, paging=Paging(16, 17))


def test_sizes_below_one_are_refused():
    with pytest.raises(UserError, match='page_size: must be at least 1, not 0'):
        Paging(0)
    with pytest.raises(UserError, match='pages: must be at least 1, not 0'):
        Paging(64, 0)


def test_a_model_without_pages_is_refused():
    model = SimpleNamespace(
        **dict.fromkeys(get_protocol_members(LanguageModel), print)
    )  # with methods that are not None
    with pytest.raises(UserError, match='cannot decode with pages: it has no init_pages'):
        generate_paged(model, {}, [[1]], SAMPLED, NEW, KEY)


@pytest.mark.long
def test_texts_of_a_writer_are_those_of_the_plain_cache(rotary, tokenizer):
    writer = Writer(*rotary, tokenizer, SAMPLED)
    paged, usage = writer.write_paged('def attend(', KEY, Paging(16), 20, samples=3)
    assert paged == writer.write('def attend(', KEY, 20, samples=3)
    assert f'cache: {usage.pages} pages of 16 tokens' in str(usage)
    # Two layers of keys and values of 2 heads of 4, positions and segments, and a page's own counter.
    assert usage.page_bytes == 2 * 4 * (16 * (2 * 2 * 4 + 2) + 1)
    assert usage.bytes == usage.pages * usage.page_bytes + 3 * usage.row_bytes


@pytest.mark.long
def test_no_step_copies_the_cache():
    """Pools are changed in place, and what the program holds besides is less than the keys of a layer, by far."""
    spec = model_spec(context_length=5000)
    spec['block']['mixer']['head_width'] = 64
    model, params = make(spec)
    rows, pages = 8, Pages(512, 16, 64)
    pools, state = _empty(model, pages, params)
    state = jax.tree.map(lambda leaf: jnp.concatenate(rows * [leaf]), state)
    now = Writing.after(state, jnp.zeros(rows, jnp.int32), jnp.zeros(rows, bool), 16)
    arrays = np.zeros((rows, 4), np.int32), np.zeros((rows, 64), np.int32), pools, now, KEY, np.int32(-1), 8
    compiled = _advance.lower(model, SAMPLED, FREE, unstacked(params), *arrays).compile()
    memory = compiled.memory_analysis()
    held = sum(leaf.nbytes for leaf in jax.tree.leaves(pools))
    assert memory.alias_size_in_bytes >= held
    assert memory.temp_size_in_bytes < pools[0].k.nbytes / 4
