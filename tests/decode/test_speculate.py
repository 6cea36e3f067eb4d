# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Speculative decoding: the tokens of the large model, whatever the draft, in every kind of state."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from small_models import CONTEXT, make, model_spec

from saccade.decode.generate import generate
from saccade.decode.rules import TokenRules
from saccade.decode.sample import Writer
from saccade.decode.sampling import Sampler
from saccade.decode.speculate import Draft, DraftUsage, generate_drafted
from saccade.types import LayerContext, UserError

KEY = jax.random.key(5)
GREEDY = Sampler(0.0)
PROMPTS = ([*range(40)], [9, 9], [], [7, 3, 7, 3, 7])
NEW = 30
LONG = partial(pytest.param, marks=pytest.mark.long)


def small(**changes):
    return make(model_spec(**{'layers': 1, 'width': 8, **changes}))


def first_new(pair, place):
    """The new greedy token of the prompt 7, 3 at a place from 0."""
    return generate(*pair, [[7, 3]], GREEDY, place + 1, KEY)[0][place]


MODELS = [*map(LONG, ('learned', 'hybrid', 'windowed')), 'rotary']


@pytest.mark.parametrize('name', MODELS)
@pytest.mark.parametrize('drafted', [LONG(1), 4])
def test_greedy_tokens_are_those_of_the_large_model(name, drafted, request):
    model, params = request.getfixturevalue(name)
    plain = generate(model, params, PROMPTS, GREEDY, NEW, KEY)
    found, usage = generate_drafted(model, params, Draft(*small(), drafted), PROMPTS, GREEDY, NEW, KEY)
    assert found == plain
    assert usage.kept < usage.drafted <= drafted * usage.rounds  # the small model has other weights


@pytest.mark.parametrize('name', ['rotary', LONG('hybrid')])
def test_a_draft_by_the_model_itself_is_kept(name, request):
    model, params = request.getfixturevalue(name)
    plain = generate(model, params, PROMPTS, GREEDY, NEW, KEY)
    found, usage = generate_drafted(model, params, Draft(model, params, 4), PROMPTS, GREEDY, NEW, KEY)
    assert found == plain
    assert usage.rounds == len(PROMPTS) * NEW / 5


@pytest.mark.long
def test_the_state_of_a_draft_may_be_of_another_kind(rotary, hybrid):
    plain = generate(*rotary, PROMPTS, GREEDY, NEW, KEY)
    assert generate_drafted(*rotary, Draft(*hybrid), PROMPTS, GREEDY, NEW, KEY)[0] == plain


@pytest.mark.long
def test_a_text_ends_with_its_end_token_and_at_the_context(rotary):
    model, params = rotary
    prompts = [[*range(CONTEXT - NEW)]]
    (whole,) = generate(model, params, prompts, GREEDY, NEW, KEY)
    draft = Draft(*rotary, 7)
    assert generate_drafted(model, params, draft, prompts, GREEDY, NEW, KEY)[0] == [whole]
    end = whole[10]
    first = whole.index(end)
    for given in (dict(end=end), dict(rules=TokenRules(ends=(end,)))):
        assert generate_drafted(model, params, draft, prompts, GREEDY, NEW, KEY, **given)[0] == [whole[:first]]


@pytest.mark.long
def test_a_draft_with_a_shorter_context_reads_the_whole_prompt(rotary):
    model, params = rotary
    short = model.copy(context_length=24)  # its chunks of a prompt are shorter
    _, usage = generate_drafted(model, params, Draft(short, params, 2), [[7, 3, 7, 3, 7]], GREEDY, 9, KEY)
    assert usage.kept == usage.drafted == 6


@pytest.mark.long
def test_only_drafted_tokens_that_a_text_has_room_for_are_counted(rotary):
    _, usage = generate_drafted(*rotary, Draft(*rotary, 4), [[7, 3]], GREEDY, 7, KEY)
    assert usage == DraftUsage(rounds=2, drafted=4 + 2, kept=4 + 2)
    (found,), usage = generate_drafted(*rotary, Draft(*rotary, 4), [[7, 3]], GREEDY, 7, KEY, end=first_new(rotary, 2))
    assert usage.kept == len(found) <= 2


def test_no_prompts_no_rounds(rotary):
    assert generate_drafted(*rotary, Draft(*small()), [], GREEDY, NEW, KEY) == ([], DraftUsage(0, 0, 0))


@pytest.mark.long
@pytest.mark.parametrize('sampler', [Sampler(1.0), Sampler(0.7, top_k=3)])
def test_sampled_tokens_have_the_distribution_of_the_large_model(sampler):
    """The frequencies of all texts of three tokens, by a chi-square test against the model's probabilities."""
    changes = dict(vocabulary=4, context_length=8)
    model, params = make(model_spec(**changes))
    params = jax.tree.map(lambda leaf: leaf / 4, params)  # no text is certain
    rows, tokens = 6000, 3
    found, _ = generate_drafted(model, params, Draft(*small(**changes), 2), rows * [[1, 2]], sampler, tokens, KEY)
    texts = np.array([*itertools.product(range(4), repeat=tokens)])
    given = np.concatenate([np.tile([1, 2], (len(texts), 1)), texts], axis=1)
    places = jnp.broadcast_to(jnp.arange(given.shape[1]), given.shape)
    logits = model.apply({'params': params}, jnp.asarray(given), LayerContext(places), False)
    chosen = jax.nn.softmax(sampler.filtered(logits[:, 1:-1]), axis=-1)
    shares = np.take_along_axis(np.asarray(chosen), texts[..., None], axis=-1).prod(axis=(1, 2)).astype(np.float64)
    numbers = dict.fromkeys(map(tuple, texts.tolist()), 0)
    for row in found:
        numbers[tuple(row)] += 1
    counts, possible = np.array([*numbers.values()]), shares > 0
    assert counts[~possible].sum() == 0
    common = shares * rows >= 5
    assert common.sum() >= 8
    expected = np.append(shares[common], shares[~common].sum()) * rows
    counted = np.append(counts[common], counts[~common].sum())
    kept = expected > 0
    assert stats.chisquare(counted[kept], expected[kept] * counted.sum() / expected.sum()).pvalue > 1e-3


def test_what_cannot_be_checked_is_refused(rotary):
    with pytest.raises(UserError, match='the draft has 40 tokens, and the model 257'):
        generate_drafted(*rotary, Draft(*small(vocabulary=40)), PROMPTS, GREEDY, NEW, KEY)
    with pytest.raises(UserError, match='decode without a draft'):
        generate_drafted(*rotary, Draft(*small()), PROMPTS, GREEDY, NEW, KEY, rules=TokenRules(never=(3,)))
    with pytest.raises(UserError, match='do not fit the context of 32'):
        generate_drafted(*rotary, Draft(*small(context_length=32)), PROMPTS[1:], GREEDY, NEW, KEY)
    with pytest.raises(UserError, match='draft_tokens: must be at least 1, not 0'):
        Draft(*small(), 0)


def test_a_draft_with_another_tokenizer_is_refused(rotary, tokenizer, words):
    writer, other = (Writer(*rotary, each, GREEDY) for each in (tokenizer, words))
    assert writer.write_drafted('a', KEY, writer, 2, 4)[0] == writer.write('a', KEY, 4)
    with pytest.raises(UserError, match='the draft has another tokenizer'):
        writer.write_drafted('a', KEY, other, 2, 4)


def test_a_state_that_grows_otherwise_is_refused(rotary):
    spec = model_spec(layers=1)
    mixer = {'use': 'attention.path:PaTH', 'heads': 4, 'mask': {'use': 'ops.mask:Causal'}}
    path = make({**spec, 'block': {**spec['block'], 'mixer': mixer}})
    with pytest.raises(
        UserError, match=r'model\.decoder:Decoder cannot decode with a draft, nor as one: a state keeps'
    ):
        generate_drafted(*path, Draft(*rotary), PROMPTS, GREEDY, NEW, KEY)
