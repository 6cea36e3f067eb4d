# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cached generation against running the whole text through the model again for every token."""

import math
import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from counting_position import Counting

from saccade.decode.generate import CHUNK, continued, generate
from saccade.decode.sampling import Sampler
from saccade.types import LayerContext, UserError

GREEDY = Sampler(0.0)
SAMPLED = Sampler(1.0, 40, 0.95, 0.01)
KEY = jax.random.key(3)
# Short, empty, and of two chunks and of three, so that whole chunks of the shorter rows are padding.
PROMPTS = ([7], [1, 2, 3, 4, 5], [], list(range(100, 180)), [(3 * place) % 251 for place in range(150)])
NEW = 12


@partial(jax.jit, static_argnums=(0, 2))
def next_token(model, params, sampler, tokens, length, key):
    logits = model.apply({'params': params}, tokens, LayerContext(jnp.arange(model.context_length)[None]), False)
    return sampler(logits[0, length - 1], key)


def plainly(model, params, prompt, sampler, max_tokens, key, end=None):
    """Generate one row, of which `key` is the row's own."""
    tokens, new = list(prompt) or [0 if end is None else end], []
    for step in range(max_tokens):
        padded = np.zeros((1, model.context_length), np.int32)
        padded[0, : len(tokens + new)] = tokens + new
        token = int(next_token(model, params, sampler, padded, len(tokens + new), jax.random.fold_in(key, step)))
        if token == end:
            break
        new.append(token)
    return new


@pytest.mark.long
@pytest.mark.parametrize(('name', 'sampler'), [('rotary', SAMPLED), ('learned', GREEDY), ('windowed', SAMPLED)])
def test_it_equals_the_plain_loop_token_for_token(name, sampler, request):
    model, params = request.getfixturevalue(name)
    rows = generate(model, params, PROMPTS, sampler, NEW, KEY)
    for number, (prompt, new) in enumerate(zip(PROMPTS, rows, strict=True)):
        assert len(new) == NEW
        assert new == plainly(model, params, prompt, sampler, NEW, jax.random.fold_in(KEY, number))


@pytest.mark.long
def test_a_row_stops_before_its_end_token_while_others_go_on(rotary):
    model, params = rotary
    endless = generate(model, params, PROMPTS, SAMPLED, NEW, KEY)
    end = endless[1][3]
    rows = generate(model, params, PROMPTS, SAMPLED, NEW, KEY, end)
    assert rows[1] == endless[1][: endless[1].index(end)]
    assert {len(row) for row in rows} > {len(rows[1])}
    for number, (prompt, new) in enumerate(zip(PROMPTS, rows, strict=True)):
        assert new == plainly(model, params, prompt, SAMPLED, NEW, jax.random.fold_in(KEY, number), end)


@pytest.mark.long
def test_a_row_does_not_depend_on_the_others(rotary):
    model, params = rotary
    rows = generate(model, params, PROMPTS, SAMPLED, NEW, KEY)
    others = generate(model, params, [PROMPTS[0], *PROMPTS[:0:-1]], SAMPLED, NEW, KEY)
    assert others[0] == rows[0]
    assert others[1] != rows[4]  # another number, so other draws
    assert generate(model, params, PROMPTS[:1], SAMPLED, NEW, KEY) == rows[:1]


@pytest.mark.long
def test_samples_of_one_prompt_differ_and_a_key_repeats_them(rotary):
    def draw(seed):
        return generate(*rotary, 5 * [PROMPTS[4]], SAMPLED, NEW, jax.random.key(seed))

    assert len({tuple(row) for row in draw(0)}) == 5
    assert draw(0) == draw(0) != draw(1)


@pytest.mark.long
def test_an_empty_prompt_begins_with_the_end_token_or_else_with_token_0(rotary):
    def greedy(prompt, end=None):
        return generate(*rotary, [prompt], GREEDY, 6, KEY, end)

    assert greedy([]) == greedy([0])
    assert greedy([], 9) == greedy([9], 9)
    assert greedy([0]) != greedy([9])
    assert generate(*rotary, [], GREEDY, 6, KEY) == []


@pytest.mark.long
def test_the_context_can_be_filled_to_the_last_token(learned):
    model, params = learned
    prompt = [place % 251 for place in range(model.context_length - 2)]
    (new,) = generate(model, params, [prompt], GREEDY, 2, KEY)
    assert new == plainly(model, params, prompt, GREEDY, 2, KEY)


@pytest.mark.long
def test_similar_prompts_share_a_program_and_an_equal_model_too(counted):
    model, params = counted
    generate(model, params, [[1, 2, 3]], GREEDY, 16, KEY)
    before = Counting.seen['traced']
    generate(model.clone(), params, [[5] * (CHUNK + 1)], Sampler(0.0), 16, jax.random.key(1), 17)
    assert Counting.seen['traced'] == before > 0


@pytest.mark.long
def test_it_runs_no_more_steps_than_it_needs(counted):
    model, params = counted

    def runs(prompts, end=None):
        jax.effects_barrier()
        before = Counting.seen['run']
        rows = generate(model, params, prompts, GREEDY, 16, KEY, end)
        jax.effects_barrier()
        return Counting.seen['run'] - before, rows

    steps, ((_, _, end, *_),) = runs([[1, 2, 3]])
    assert steps == 1 + 16  # one chunk of the prompt
    steps, (new,) = runs([[1, 2, 3]], end)
    assert steps == 1 + len(new) + 1
    assert runs([[1] * (2 * CHUNK + 2)])[0] == 3 + 16  # a fourth chunk is padding


@pytest.mark.long
def test_no_step_of_the_loop_copies_parameters(learned):
    model, params = learned
    arrays = params, np.zeros((1, CHUNK + 1), np.int32), np.ones(1, np.int32), KEY, np.int32(-1)
    compiled = continued.lower(model, GREEDY, 4, *arrays).compile().as_text()
    moved = [line for line in compiled.splitlines() if re.search(r' (slice|concatenate)\(', line)]
    in_loop = [line for line in moved if 'while/body' in line]
    smallest = min(leaf.size // model.layers for leaf in jax.tree.leaves(params['layers']) if leaf.ndim > 2)
    assert any(size_of(line) >= smallest for line in moved)  # the layers are cut, once, before it
    assert in_loop
    assert [line for line in in_loop if size_of(line) >= smallest] == []


def size_of(line):
    """Elements of what an HLO instruction makes."""
    return math.prod(int(size) for size in re.search(r'= \w+\[([\d,]*)\]', line)[1].split(',') if size)


@pytest.mark.long
@pytest.mark.parametrize(
    ('prompt', 'max_tokens', 'message'),
    [
        ([1] * 300, 1, 'prompt of 300 tokens leaves no room in the context of 200; shorten it to 199'),
        ([1] * 200, 1, 'prompt of 200 tokens leaves no room in the context of 200'),
        ([1] * 150, 51, 'prompt of 150 tokens and max_tokens of 51 .* context of 200; set max_tokens to 50'),
        ([1], 0, 'max_tokens: must be at least 1, not 0'),
        ([1, 257], 5, 'token 257 of the prompt is not in the vocabulary of the model, which has 257 tokens'),
        ([-1], 5, 'token -1 of the prompt'),
    ],
)
def test_what_does_not_fit_is_refused_with_a_way_out(rotary, prompt, max_tokens, message):
    with pytest.raises(UserError, match=message):
        generate(*rotary, [[1], prompt], GREEDY, max_tokens, KEY)
